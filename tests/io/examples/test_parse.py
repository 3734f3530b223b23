"""Examples parsed: by themselves, in batches, and over the blocks of a pipeline."""

from __future__ import annotations

import functools
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from contract.example_twin import parsed
from contract.streams import outcomes
from fuzz.example import field, varint
from penstock.blocks.block import Block
from penstock.blocks.build import column_of
from penstock.blocks.columns import BytesColumn, DenseColumn, RaggedColumn
from penstock.blocks.structure import LEAF
from penstock.functions.function import UserFunction
from penstock.functions.purity import purity
from penstock.functions.row_function import RowFunction

FEATURES = {
    "label": ps.io.FixedLenFeature([], "int64"),
    "weight": ps.io.FixedLenFeature([2], np.float32, [0.5, 1.5]),
    "name": ps.io.FixedLenFeature([], bytes, b"none"),
    "ids": ps.io.VarLenFeature("int64"),
}


def examples(count: int) -> list[bytes]:
    made = []
    for i in range(count):
        features: dict[str, Any] = {"label": i, "ids": np.arange(i % 4)}
        if i % 3:
            features |= {"weight": [float(i), 2.0], "name": b"n%d" % i}
        made.append(ps.io.serialize_example(features))
    return made


def parse(one: Any) -> Any:
    return ps.io.parse_single_example(one, FEATURES)


def rows_of(function: Any) -> RowFunction:
    class Declared:
        site = "here.py:1"

    return RowFunction([UserFunction(function, Declared(), "map")])


def test_given_examples_then_one_by_one_batched_and_in_a_map_they_are_the_same() -> None:
    serialized = examples(50)
    ds = ps.Dataset.from_tensor_slices(serialized)
    together = ps.io.parse_example(serialized, FEATURES)
    batches = list(ds.batch(50).map(lambda e: ps.io.parse_example(e, FEATURES)))
    for i, (alone, mapped) in enumerate(zip(map(parse, serialized), ds.map(parse), strict=True)):
        assert alone["label"] == mapped["label"] == together["label"][i] == batches[0]["label"][i] == i
        assert alone["name"] == mapped["name"] == together["name"][i] == batches[0]["name"][i]
        assert alone["name"] == (b"n%d" % i if i % 3 else b"none")
        expected = [float(i), 2.0] if i % 3 else [0.5, 1.5]
        for each in (alone["weight"], mapped["weight"], together["weight"][i], batches[0]["weight"][i]):
            assert each.tolist() == expected
        for each in (alone["ids"], mapped["ids"], together["ids"][i], batches[0]["ids"][i]):
            assert each.tolist() == list(range(i % 4))


def test_given_a_map_that_parses_then_its_spec_is_known_without_running() -> None:
    ds = ps.Dataset.from_tensor_slices(examples(3))
    assert ds.map(parse).element_spec == {
        "label": ps.TensorSpec((), "int64"),
        "weight": ps.TensorSpec((2,), "float32"),
        "name": ps.TensorSpec((), bytes),
        "ids": ps.TensorSpec((None,), "int64"),
    }
    assert ds.map(lambda e: parse(e)["weight"] * 2).element_spec == ps.TensorSpec((2,), "float32")
    fixed = ds.batch(3, drop_remainder=True).map(lambda e: ps.io.parse_example(e, FEATURES))
    assert fixed.element_spec["weight"] == ps.TensorSpec((3, 2), "float32")
    assert fixed.element_spec["ids"] == ps.TensorSpec((3, None), "int64")
    loose = ds.batch(2).map(lambda e: ps.io.parse_example(e, FEATURES))
    assert loose.element_spec["weight"] == ps.TensorSpec((None, 2), "float32")
    assert loose.element_spec["name"] == ps.TensorSpec((None,), bytes)


@pytest.mark.parametrize("size", [1, 2])
def test_given_a_map_that_parses_and_computes_then_it_runs_over_whole_blocks(size: int) -> None:
    ds = ps.Dataset.from_tensor_slices(examples(12))
    single = ds.map(lambda e: parse(e)["weight"] / 2)
    batched = ds.batch(size).map(lambda e: ps.io.parse_example(e, FEATURES)["weight"] / 2)
    assert "called over whole blocks" in str(single.explain())
    assert "called over whole blocks" in str(batched.explain())
    assert np.concatenate(list(batched)).tolist() == np.stack(list(single)).tolist()


def test_given_a_block_then_the_columns_hold_no_object_a_record() -> None:
    rows = rows_of(parse)
    block = Block(LEAF, [column_of(examples(40))], 40)
    for _ in range(2):
        outcome = rows.apply(block, np.arange(40), 1 << 30, 0)
    assert outcome.block is not None and rows.why == ""
    kinds = [type(column) for column in outcome.block.columns]
    assert kinds == [DenseColumn, DenseColumn, BytesColumn, RaggedColumn]
    assert outcome.block.rows == 40


def test_given_bad_records_then_the_good_ones_arrive_and_errors_are_in_their_places() -> None:
    serialized = examples(60)
    serialized[7] = b"\x0a\xff"
    serialized[8] = ps.io.serialize_example({"weight": [1.0, 2.0]})
    serialized[40] = ps.io.serialize_example({"label": 1, "weight": [1.0]})
    found = outcomes(ps.Dataset.from_tensor_slices(serialized).map(parse))
    assert [i for i, one in enumerate(found) if isinstance(one, Exception)] == [7, 8, 40]
    assert [one["label"] for i, one in enumerate(found) if i not in (7, 8, 40)] == [
        i for i in range(60) if i not in (7, 8, 40)
    ]
    assert [found[i].number for i in (7, 8, 40)] == [7, 8, 40]
    assert all(isinstance(found[i], ps.errors.FunctionError) and found[i].op == "map" for i in (7, 8, 40))
    assert isinstance(found[7].__cause__, ps.errors.DataError)
    assert "at byte 1" in str(found[7]) and "has 2 bytes" in str(found[7])
    assert "feature 'label': expected 1 int64 value, but the example does not have it" in str(found[8])
    assert "feature 'weight': expected 2 float32 values, got 1" in str(found[40])


def test_given_a_bad_batch_then_the_error_names_the_record_and_the_others_arrive() -> None:
    serialized = examples(12)
    serialized[7] = serialized[7][:-1]
    ds = ps.Dataset.from_tensor_slices(serialized).batch(4)
    found = outcomes(ds.map(lambda e: ps.io.parse_example(e, FEATURES)["label"]))
    assert [found[0].tolist(), found[2].tolist()] == [[0, 1, 2, 3], [8, 9, 10, 11]]
    assert "record 3, at byte" in str(found[1])
    assert found[1].number == 1


def test_given_a_bad_record_then_the_rows_after_it_still_run_over_the_block() -> None:
    serialized = examples(64)
    serialized[20] = b"\xff"
    rows = rows_of(parse)
    block, numbers = Block(LEAF, [column_of(serialized)], 64), np.arange(64)
    done, used = 0, []
    while done < 64:
        outcome = rows.apply(block.slice(done, 64), numbers[done:], 1 << 30, done)
        used.append((outcome.used, outcome.error is not None))
        done += outcome.used
    assert used == [(1, False), (19, False), (1, True), (43, False)]
    assert rows.why == ""


def test_given_batches_with_nan_in_a_ragged_leaf_then_they_still_run_over_the_block() -> None:
    serialized = [ps.io.serialize_example({"x": np.full(n % 3, np.nan)}) for n in range(24)]
    features = {"x": ps.io.VarLenFeature("float32")}
    rows = rows_of(lambda e: ps.io.parse_example(e, features))
    column = column_of(serialized)
    assert isinstance(column, BytesColumn)
    block = Block(LEAF, [column.reshaped((4,))], 6)
    applied = [rows.apply(block, np.arange(6), 1 << 30, 0) for _ in range(2)]
    assert rows.why == "" and applied[1].used == 6
    assert applied[1].block is not None
    assert [np.isnan(one["x"].values).sum() for one in applied[1].block.elements()] == [3, 4, 5, 3, 4, 5]


def test_given_features_that_are_not_asked_for_then_what_is_in_them_is_not_looked_at() -> None:
    entry = field(1, b"other") + field(2, b"\xff\xff\xff")
    serialized = ps.io.serialize_example({"label": 3}) + field(1, field(1, entry))
    assert parse(serialized)["label"] == 3
    with pytest.raises(ps.errors.DataError, match="'other'"):
        ps.io.parse_single_example(serialized, {"other": ps.io.VarLenFeature("int64")})


@pytest.mark.parametrize(
    ("serialized", "match"),
    [
        (b"\x0a\x05\x0a", "at byte 1: expected a whole message"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "varint of at most 10 bytes"),
        (b"\x00", "at byte 0: .* a tag that is none"),
        (b"\x0f", "a tag that is none"),
        (varint(9 << 3 | 3), "ends in the middle"),
        (varint(9 << 3 | 3) + varint(8 << 3 | 4), "the end of a group"),
        (varint(9 << 3 | 3) * 200, "100 groups"),
        (field(1, field(1, field(2, b"") + field(2, b""))), "one value in a map entry, got two"),
        (ps.io.serialize_example({"label": b"x"}), "'label': expected 1 int64 value, got bytes values"),
        (ps.io.serialize_example({"label": [1, 2, 3]}), "expected 1 int64 value, got 3"),
        (b"", r"'label': expected 1 int64 value, but the example does not have it\."),
        (ps.io.serialize_example({"Label": 1, "\u00e9": 2}), "does not have it: it has 'Label' and '\u00e9'"),
        (ps.io.serialize_example({f"f{i}": i for i in range(10)}), "it has 'f0', .*, 'f6' and 3 more"),
        (field(1, varint(9 << 3) + varint(5)), r"does not have it\."),
    ],
)
def test_given_a_damaged_record_then_the_error_says_what_and_where(serialized: bytes, match: str) -> None:
    with pytest.raises(ps.errors.DataError, match=match):
        parse(serialized)
    with pytest.raises(ps.errors.DataError, match=f"record 2, .*{match}"):
        ps.io.parse_example([*examples(2), serialized], FEATURES)


VALUES = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6).map(lambda v: np.array(v, np.int64)),
    st.lists(st.integers(0, 2**32 - 1), max_size=6).map(lambda v: np.array(v, np.uint32).view(np.float32)),
    st.lists(st.binary(max_size=200), min_size=1, max_size=6).map(lambda v: np.array(v, object)),
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    records=st.lists(
        st.dictionaries(st.sampled_from(["a", "b", "é", ""]), VALUES, max_size=4), min_size=1, max_size=5
    ),
    key=st.sampled_from(["a", "b", "é", ""]),
    dtype=st.sampled_from(["int64", "float32", "bytes"]),
)
def test_given_any_examples_then_the_parser_says_what_plain_python_says(
    records: list[dict[str, Any]], key: str, dtype: str
) -> None:
    serialized = [ps.io.serialize_example(one) for one in records]
    twins = [parsed(one, [key])[key] for one in serialized]
    features = {key: ps.io.VarLenFeature(dtype)}
    if any(twin is not None and twin[0] != dtype for twin in twins):
        with pytest.raises(ps.errors.DataError):
            ps.io.parse_example(serialized, features)
        return
    got = ps.io.parse_example(serialized, features)[key]
    for i, twin in enumerate(twins):
        values = [] if twin is None else twin[1]
        mine = got[i].view(np.uint32) if dtype == "float32" else got[i]
        assert mine.tolist() == values
        kept = records[i].get(key, np.zeros(0))
        assert len(values) == len(kept)


def test_given_floats_then_every_bit_of_a_nan_is_kept() -> None:
    bits = [0x7FC00001, 0xFFC12345, 0x7F800001, 0x80000000]
    raw = field(1, field(1, field(1, b"x") + field(2, field(2, field(1, struct.pack("<4I", *bits))))))
    got = ps.io.parse_single_example(raw, {"x": ps.io.FixedLenFeature([4], "float32")})["x"]
    assert got.view(np.uint32).tolist() == bits


def test_given_nothing_to_parse_then_there_is_nothing_of_the_right_shapes() -> None:
    got = ps.io.parse_example([], FEATURES)
    assert got["label"].shape == (0,) and got["weight"].shape == (0, 2) and got["name"].shape == (0,)
    assert got["ids"].to_list() == []


def test_given_wrong_arguments_then_the_error_says_so() -> None:
    wrong: list[tuple[Any, str]] = [
        (lambda: ps.io.FixedLenFeature([], "int32"), "expected int64, float32 or bytes"),
        (lambda: ps.io.FixedLenFeature([-1], "int64"), "shape"),
        (lambda: ps.io.FixedLenFeature([2], "int64", 1), "expected 2 values"),
        (lambda: ps.io.FixedLenFeature([], "int64", 1.5), "expected int64, got 1.5"),
        (lambda: ps.io.FixedLenFeature([], "string", 3), "expected bytes, got 3"),
        (lambda: ps.io.SparseFeature(["a", "b"], "v", "int64", [3]), "as many sizes as keys"),
        (lambda: ps.io.RaggedFeature("int64", partitions=["a"]), "RowSplits"),
        (lambda: ps.io.parse_example(b"", []), "expected a dict"),
        (lambda: ps.io.parse_example(b"", {"a": 3}), "for 'a', got 3"),
        (lambda: ps.io.parse_single_example([b""], {}), "expected bytes, got a list"),
        (lambda: ps.io.parse_example(np.array([b"a\x00"]), {}), "drops zeros"),
        (
            lambda: ps.io.parse_example(b"", {"a": ps.io.FixedLenSequenceFeature([], "int64")}),
            "allow_missing",
        ),
    ]
    for call, match in wrong:
        with pytest.raises((ps.errors.ArgumentError, ps.errors.ArgumentTypeError), match=match):
            call()


def closing_over(features: Any) -> Any:
    return lambda e: ps.io.parse_single_example(e, features)


def changes_its_features(e: Any) -> Any:
    FEATURES.pop("ids")
    return parse(e)


def sets_a_feature(e: Any) -> Any:
    FEATURES["ids"] = FEATURES["label"]
    return parse(e)


def test_given_features_in_a_dict_then_a_function_that_reads_them_is_pure() -> None:
    assert purity(parse).pure
    assert purity(closing_over(FEATURES)).pure
    assert purity(functools.partial(ps.io.parse_single_example, features=FEATURES)).pure
    assert purity(lambda e: ps.io.parse_example(e, {"x": ps.io.FixedLenFeature([], "int64")})).pure
    assert not purity(closing_over({"x": object()})).pure
    assert not purity(changes_its_features).pure
    assert not purity(sets_a_feature).pure
