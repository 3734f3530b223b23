"""Examples written: one by one, and over the blocks of a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.example_twin import parsed


def test_given_values_of_every_kind_then_plain_python_reads_them() -> None:
    features = {
        "i": np.array([[1, -2], [3, 2**62]]),
        "b": np.array([True, False]),
        "u": np.uint8(200),
        "f": [0.5, -1.5],
        "s": b"raw\x00",
        "t": "täxt",
        "many": ["a", b"bc"],
        "none": None,
        "empty": np.zeros(0, np.float32),
    }
    got = parsed(ps.io.serialize_example(features), features)
    assert got["i"] == ("int64", [1, -2, 3, 2**62])
    assert got["b"] == ("int64", [1, 0])
    assert got["u"] == ("int64", [200])
    assert got["f"] == ("float32", np.array([0.5, -1.5], np.float32).view(np.uint32).tolist())
    assert got["s"] == ("bytes", [b"raw\x00"])
    assert got["t"] == ("bytes", ["täxt".encode()])
    assert got["many"] == ("bytes", [b"a", b"bc"])
    assert got["none"] is None
    assert got["empty"] == ("float32", [])


def test_given_the_order_of_a_dict_then_the_bytes_do_not_depend_on_it() -> None:
    assert ps.io.serialize_example({"a": 1, "b": 2}) == ps.io.serialize_example({"b": 2, "a": 1})


def test_given_a_map_then_a_block_is_written_as_its_elements_are() -> None:
    elements = [{"i": np.int64(n), "v": np.arange(n % 3) / 2, "s": b"x" * n, "t": "é" * n} for n in range(40)]
    ds = ps.Dataset.from_generator(lambda: iter(elements))
    constant = ds.map(lambda d: ps.io.serialize_example({**d, "k": 7}))
    for got, element in zip(constant, elements, strict=True):
        assert got == ps.io.serialize_example({**element, "k": 7})
    slices = ps.Dataset.from_tensor_slices({"a": np.arange(5), "s": [b"x"] * 5})
    mapped = slices.map(lambda d: ps.io.serialize_example(d))
    assert "called over whole blocks" in str(mapped.explain())
    assert mapped.element_spec == ps.TensorSpec((), bytes)
    assert list(mapped) == [ps.io.serialize_example({"a": n, "s": b"x"}) for n in range(5)]


def test_given_a_pipeline_there_and_back_then_nothing_has_changed() -> None:
    data = {"a": np.arange(20), "w": np.linspace(0, 1, 20, dtype=np.float32)}
    features = {"a": ps.io.FixedLenFeature([], "int64"), "w": ps.io.FixedLenFeature([], "float32")}
    ds = ps.Dataset.from_tensor_slices(data).map(lambda d: ps.io.serialize_example(d))
    back = ds.map(lambda e: ps.io.parse_single_example(e, features)).batch(20).get_single_element()
    assert back["a"].tolist() == data["a"].tolist()
    assert back["w"].tobytes() == data["w"].tobytes()


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (1 + 2j, "expected whole numbers, floats, bytes or text, got complex128"),
        (np.array([1, b"x"], object), "got a int"),
        (np.uint64(2**64 - 1), "64 bits with a sign, got 18446744073709551615"),
        (1e300, "feature 'x': expected floats that float32 has room for, up to 3.4e38, got 1e.300 in item 0"),
        ([0.5, np.inf, -1e39], "got -1e.39 in item 2"),
        (ps.Ragged(np.array([1.0, 1e300]), np.array([0, 2])), "got 1e.300 in item 1"),
        (np.float64(3.4028236e38), "got 3.4028236e.38 in item 0"),
        ({"a": 1}, "got a dict"),
        (np.array(["2020"], "M8[Y]"), "datetime64"),
        ([[1], [2, 3]], "feature 'x' has a list that is no array"),
    ],
)
def test_given_a_value_that_an_example_cannot_hold_then_the_error_names_the_feature(
    value: Any, match: str
) -> None:
    with pytest.raises(ps.errors.DataError, match=match):
        ps.io.serialize_example({"x": value})


def test_given_floats_at_the_edge_of_float32_then_they_are_kept() -> None:
    largest = float(np.finfo(np.float32).max)
    given = np.array([largest, -largest, np.inf, -np.inf, np.nan, 1e-300])
    back = ps.io.parse_single_example(
        ps.io.serialize_example({"x": given}), {"x": ps.io.VarLenFeature("float32")}
    )
    np.testing.assert_array_equal(back["x"], np.array([largest, -largest, np.inf, -np.inf, np.nan, 0]))


def test_given_a_float_beyond_float32_in_a_pipeline_then_the_error_names_the_element(tmp_path: Path) -> None:
    ds = ps.Dataset.from_tensor_slices({"x": [[0.5, 1.0], [1.5, 2.0], [2.5, 1e300], [3.5, 4.0]]})
    match = "on element 2: DataError: .*feature 'x': .*got 1e.300 in item 1"
    with pytest.raises(ps.errors.FunctionError, match=match):
        list(ds.map(lambda d: ps.io.serialize_example(d)))
    with pytest.raises(ps.errors.FunctionError, match=match):
        ds.write_tfrecord(tmp_path / "out")


def test_given_no_dict_then_it_is_an_error() -> None:
    with pytest.raises(ps.errors.ArgumentTypeError, match="expected a dict"):
        ps.io.serialize_example([1])  # type: ignore[arg-type]
    with pytest.raises(ps.errors.ArgumentTypeError, match="expected two dicts"):
        ps.io.serialize_sequence_example({}, [])  # type: ignore[arg-type]
