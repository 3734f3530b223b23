"""`ds.parse_example`: the short form of a map that parses."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps

FEATURES = {"x": ps.io.FixedLenFeature([], "int64"), "w": ps.io.VarLenFeature(bytes)}


def records(count: int) -> ps.Dataset:
    made = [ps.io.serialize_example({"x": i, "w": [b"a"] * i, "other": 1.5}) for i in range(count)]
    return ps.Dataset.from_tensor_slices(made)


def test_given_single_examples_then_each_is_a_dict_of_what_was_asked_for() -> None:
    got = list(records(3).parse_example(FEATURES))
    assert [int(element["x"]) for element in got] == [0, 1, 2]
    assert [element["w"].tolist() for element in got] == [[], [b"a"], [b"a", b"a"]]
    assert {frozenset(element) for element in got} == {frozenset({"x", "w"})}


def test_given_batches_then_it_gives_what_parse_example_does() -> None:
    wanted = {"x": FEATURES["x"]}
    got = [element["x"] for element in records(5).batch(2).parse_example(wanted)]
    assert [part.tolist() for part in got] == [[0, 1], [2, 3], [4]]


def test_then_all_examples_of_a_block_are_parsed_at_once_also_in_parallel() -> None:
    ds = records(500).parse_example({"x": FEATURES["x"]}, num_parallel_calls=2)
    assert "called over whole blocks" in str(ds.explain())
    np.testing.assert_array_equal([element["x"] for element in ds], np.arange(500))


def test_given_no_features_then_declaring_fails_and_names_the_line() -> None:
    with pytest.raises(
        ps.errors.ArgumentTypeError,
        match=r"parse_example\(features=\) at .*test_parse_example.*expected a dict",
    ):
        records(1).parse_example(3)  # type: ignore[arg-type]
