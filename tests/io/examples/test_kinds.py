"""What each kind of feature gives where a record does not fit it, and in a pipeline."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import penstock as ps

Ragged = ps.io.RaggedFeature


def both_ways(serialized: list[bytes], features: dict[str, Any]) -> list[Any]:
    """What a map gives, held to plain calls."""
    alone = [ps.io.parse_single_example(one, features)["x"] for one in serialized]
    ds = ps.Dataset.from_tensor_slices(serialized * 8)
    for got, expected in zip(
        ds.map(lambda e: ps.io.parse_single_example(e, features)["x"]), alone * 8, strict=True
    ):
        np.testing.assert_equal(plain(got), plain(expected))
    return alone


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    return value.to_list() if isinstance(value, ps.Ragged) else value.tolist()


def test_given_a_sparse_feature_then_values_and_indices_come_sorted() -> None:
    serialized = [
        ps.io.serialize_example({"i": [7, 2], "v": ["b", "a"]}),
        ps.io.serialize_example({"i": [1], "v": ["c"]}),
        ps.io.serialize_example({}),
    ]
    features = {"x": ps.io.SparseFeature("i", "v", "string", 9)}
    first, second, third = both_ways(serialized, features)
    assert first.indices.tolist() == [[2], [7]] and first.values.tolist() == [b"a", b"b"]
    assert second.indices.tolist() == [[1]] and third.indices.shape == (0, 1)
    assert first.dense_shape.tolist() == [9]
    batch = ps.io.parse_example(serialized, features)["x"]
    assert batch.indices.tolist() == [[0, 2], [0, 7], [1, 1]]
    assert batch.dense_shape.tolist() == [3, 9]


@pytest.mark.parametrize(
    ("at", "values", "match"),
    [([9], [1], "from 0 to 8 in 'i', got 9"), ([-1], [1], "got -1"), ([1, 2], [1], "as many values in 'i'")],
)
def test_given_indices_that_do_not_fit_then_the_error_names_the_record(
    at: Any, values: Any, match: str
) -> None:
    good, bad = ({"i": [1], "v": [2]}, {"i": at, "v": values})
    features = {"x": ps.io.SparseFeature("i", "v", "int64", 9)}
    with pytest.raises(ps.errors.DataError, match=f"record 1, feature 'x': .*{match}"):
        ps.io.parse_example([ps.io.serialize_example(one) for one in (good, bad)], features)


def test_given_strings_of_any_number_then_they_come_as_arrays() -> None:
    serialized = [ps.io.serialize_example({"x": [b"a"] * n}) for n in (0, 1, 3)]
    alone = both_ways(serialized, {"x": ps.io.VarLenFeature("string")})
    assert [one.tolist() for one in alone] == [[], [b"a"], [b"a"] * 3]
    even = [ps.io.serialize_example({"x": [b"a", b"bc"]})] * 3
    assert both_ways(even, {"x": ps.io.VarLenFeature("string")})[0].tolist() == [b"a", b"bc"]


def test_given_partitions_then_values_are_cut_into_rows() -> None:
    serialized = [ps.io.serialize_example({"v": [1, 2, 3, 4], "n": n}) for n in ([4], [1, 0, 3])]
    alone = both_ways(serialized, {"x": Ragged("int64", "v", [Ragged.RowLengths("n")])})
    assert [one.to_list() for one in alone] == [[[1, 2, 3, 4]], [[1], [], [2, 3, 4]]]
    alone = both_ways(serialized, {"x": Ragged("int64", "v", [Ragged.UniformRowLength(2)])})
    assert alone[0].to_list() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("partition", "numbers"),
    [
        (Ragged.RowLengths("n"), [5]),
        (Ragged.RowLengths("n"), [5, -1]),
        (Ragged.RowSplits("n"), [0, 3]),
        (Ragged.RowSplits("n"), [1, 4]),
        (Ragged.RowSplits("n"), []),
        (Ragged.RowStarts("n"), [1]),
        (Ragged.RowLimits("n"), [3]),
        (Ragged.ValueRowIds("n"), [0, 1]),
        (Ragged.ValueRowIds("n"), [1, 0, 0, 0]),
        (Ragged.ValueRowIds("n"), [0, 0, 0, 2**62]),
        (Ragged.ValueRowIds("n"), [0, 0, 1, -(2**63)]),
        (Ragged.UniformRowLength(3), []),
    ],
)
def test_given_a_partition_that_does_not_fit_then_it_is_an_error(partition: Any, numbers: list[int]) -> None:
    serialized = ps.io.serialize_example({"v": [1, 2, 3, 4], "n": np.array(numbers, np.int64)})
    with pytest.raises(ps.errors.DataError, match=r"feature 'x': expected a .* partition of 4 values"):
        ps.io.parse_single_example(serialized, {"x": Ragged("int64", "v", [partition])})


@pytest.mark.parametrize("last", [2**20 + 1, 2**26, 2**63 - 1])
def test_given_row_numbers_far_beyond_the_values_then_it_is_an_error_and_no_array(last: int) -> None:
    features = {"x": Ragged("int64", "v", [Ragged.ValueRowIds("n")])}
    serialized = ps.io.serialize_example({"v": [1], "n": [last]})
    tracemalloc.start()
    try:
        with pytest.raises(ps.errors.DataError, match=f"into at most 1048577 rows, got .{last}"):
            ps.io.parse_single_example(serialized, features)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_given_row_numbers_with_gaps_then_there_are_empty_rows() -> None:
    features = {"x": Ragged("int64", "v", [Ragged.ValueRowIds("n")])}
    gaps = ps.io.serialize_example({"v": [1, 2], "n": [1, 3]})
    assert ps.io.parse_single_example(gaps, features)["x"].to_list() == [[], [1], [], [2]]
    many = ps.io.serialize_example({"v": [1], "n": [2**20]})
    assert len(ps.io.parse_single_example(many, features)["x"]) == 2**20 + 1


def test_given_sequence_examples_then_errors_name_the_step() -> None:
    lists = {"x": ps.io.FixedLenSequenceFeature([2], "int64")}
    good = ps.io.serialize_sequence_example({}, {"x": [[1, 2], [3, 4]]})
    bad = ps.io.serialize_sequence_example({}, {"x": [[1, 2], [3]]})
    other = ps.io.serialize_sequence_example({}, {"x": [[1, 2], [3.0, 4.0]]})
    none = ps.io.serialize_sequence_example({}, {})
    for one, match in [
        (bad, "record 1, at byte .*'x', step 1: expected 2 int64 values, got 1"),
        (other, "step 1: expected 2 int64 values, got float32 values"),
        (none, "record 1, feature list 'x': expected it"),
        (good[:-3], "record 1, at byte .* ends in the middle"),
    ]:
        with pytest.raises(ps.errors.DataError, match=match):
            ps.io.parse_sequence_example([good, one], sequence_features=lists)
        ds = ps.Dataset.from_tensor_slices([good, one, good])
        with ds.map(
            lambda e: ps.io.parse_single_sequence_example(e, sequence_features=lists)[1]["x"]
        ).iterate() as it:
            assert next(it).tolist() == [[1, 2], [3, 4]]
            with pytest.raises(ps.errors.FunctionError):
                next(it)
            assert next(it).tolist() == [[1, 2], [3, 4]]


def test_given_sequence_examples_then_a_map_has_a_spec_and_gives_what_plain_calls_give() -> None:
    serialized = [
        ps.io.serialize_sequence_example({"id": n}, {"x": [[n] * m for m in range(n)], "s": [b"w"] * n})
        for n in (2, 0, 3)
    ]
    context = {"id": ps.io.FixedLenFeature([], "int64")}
    lists = {"x": ps.io.VarLenFeature("int64"), "s": ps.io.FixedLenSequenceFeature([], "string")}
    ds = ps.Dataset.from_tensor_slices(serialized * 5)
    mapped = ds.map(lambda e: ps.io.parse_single_sequence_example(e, context, lists))
    assert mapped.element_spec == (
        {"id": ps.TensorSpec((), "int64")},
        {"x": ps.TensorSpec((None, None), "int64"), "s": ps.TensorSpec((None,), bytes)},
    )
    assert "called over whole blocks" in str(mapped.explain())
    for one, (own, steps) in zip(serialized * 5, mapped, strict=True):
        expected = ps.io.parse_single_sequence_example(one, context, lists)
        assert own["id"] == expected[0]["id"]
        assert steps["x"].to_list() == expected[1]["x"].to_list()
        assert steps["s"].tolist() == expected[1]["s"].tolist()
