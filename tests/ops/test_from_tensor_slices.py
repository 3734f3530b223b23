"""`Dataset.from_tensor_slices`: what it takes, and what it says of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.streams import events

X, Y = np.zeros((4, 3)), np.zeros(4)


@pytest.mark.parametrize(
    "given, said",
    [
        ([X, Y], r"several shapes.*use a tuple \(X, Y\)"),
        ({"a": [X, Y]}, r"element\['a'\] is a list.*use a tuple \(X, Y\)"),
        ([[1], [1, 2]], "no array of one shape"),
        (None, "element is None, not an array: give arrays"),
        (object(), "of the type object, not an array: give arrays"),
        ((i for i in range(3)), "an iterator.*use from_generator"),
        (["a", "\ud800"], "half of a surrogate pair"),
        (np.array(["a", "\ud800"]), "half of a surrogate pair"),
        (np.ma.masked_array([1, 2], mask=[0, 1]), "masked array.*filled"),
        ([1 << 70], "beyond 64 bits"),
        (np.array([1, 1 << 70], object), "beyond 64 bits"),
        ([1, "a"], "strings and others.*all would become strings"),
        (3, "the scalar.*from_tensors"),
    ],
)
def test_given_no_arrays_then_declaring_fails_and_says_what_to_do(given: Any, said: str) -> None:
    with pytest.raises(
        ps.errors.ArgumentTypeError,
        match=rf"from_tensor_slices at .*test_from_tensor_slices\.py:\d+: .*{said}",
    ):
        ps.Dataset.from_tensor_slices(given)


@pytest.mark.parametrize(
    "given, said",
    [
        ([[1], [1, 2]], "element is a list that is no array of one shape"),
        ({"a": "\ud800"}, r"element\['a'\] is the text .*half of a surrogate pair"),
        (1 << 70, "beyond 64 bits"),
        (np.ma.masked_array([1, 2], mask=[0, 1]), "masked array"),
    ],
)
def test_given_no_element_then_from_tensors_fails_and_says_what_to_do(given: Any, said: str) -> None:
    with pytest.raises(
        ps.errors.ArgumentTypeError, match=rf"from_tensors at .*test_from_tensor_slices\.py:\d+: .*{said}"
    ):
        ps.Dataset.from_tensors(given)


def test_given_an_array_for_a_dataset_then_the_error_names_the_source_to_use() -> None:
    with pytest.raises(
        ps.errors.ArgumentTypeError,
        match=r"test_from_tensor_slices\.py:\d+: .*use ps\.Dataset\.from_tensor_sl",
    ):
        ps.Dataset(X)  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [1, 2, 64])
@pytest.mark.parametrize(
    "strings",
    [
        ["a", "", "ccc", "dd", "e"],
        ["a", "é", "", "漢字", "\U0001f600"],
        [b"a", b"", b"\xff\0x", b"dd", b"e"],
        [b"a", "b", b"c", None, 3],
    ],
)
def test_given_strings_then_they_come_out_in_any_order_for_every_block_size(
    strings: list[Any], rows: int
) -> None:
    kinds = [np.array(strings, object)]
    if len({type(text) for text in strings}) == 1:
        kinds += [np.array(strings)]
    for array in kinds:
        ds = ps.Dataset.from_tensor_slices(array)
        assert events(ds, block_rows=rows) == strings
        shuffled = events(ds.shuffle(5, seed=1), block_rows=rows)
        assert sorted(map(str, shuffled)) == sorted(map(str, strings))


def ragged(*lengths: int) -> Any:
    array = np.empty(len(lengths), object)
    for i, length in enumerate(lengths):
        array[i] = np.arange(length)
    return array


def test_given_arrays_of_several_shapes_then_the_spec_covers_all_and_they_make_a_ragged_batch() -> None:
    ds = ps.Dataset.from_tensor_slices(ragged(2, 3, 0))
    assert ds.element_spec == ps.TensorSpec((None,), np.int64)
    (batch,) = ds.ragged_batch(3)
    assert batch.to_list() == [[0, 1], [0, 1, 2], []]


@pytest.mark.parametrize(
    ("given", "spec"),
    [
        (np.array(["a", 1], object), ps.TensorSpec(None, object)),
        (np.array([], object), ps.TensorSpec((), object)),
        (np.empty((0, 3), "S4"), ps.TensorSpec((3,), bytes)),
        (np.empty((0,), "U4"), ps.TensorSpec((), str)),
        (np.array([["a"], ["bb"]], object), ps.TensorSpec((1,), str)),
    ],
)
def test_given_objects_or_strings_then_the_spec_is_true_of_every_row(given: Any, spec: ps.TensorSpec) -> None:
    ds = ps.Dataset.from_tensor_slices(given)
    assert ds.element_spec == spec
    assert len(list(ds)) == len(given)


def test_given_arrays_of_strings_then_the_spec_is_that_of_strings_of_any_length() -> None:
    ds = ps.Dataset.from_tensors(np.array(["abc", "d"]))
    assert ds.element_spec == ps.TensorSpec((2,), str) == ps.TensorSpec((2,), "U3")
    assert ds.element_spec.accepts(ds.get_single_element())
