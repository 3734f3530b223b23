"""The structure of an element."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.blocks.spec import BYTES, spec_of
from penstock.blocks.structure import structure_of

Point = namedtuple("Point", "x y")

NESTS: list[Any] = [
    1,
    (1, 2),
    {"a": 1, "b": (2, 3)},
    Point(1, {"k": 2}),
    (1, Point(2, 3), {"z": (4,)}),
    (),
]


@pytest.mark.parametrize("nest", NESTS)
def test_given_a_nest_then_flattening_and_building_give_it_back(nest: Any) -> None:
    structure = structure_of(nest)
    leaves = structure.flatten(nest)
    assert len(leaves) == structure.leaves == len(structure.paths())
    built = structure.unflatten(leaves)
    assert built == nest
    assert type(built) is type(nest)
    assert structure.packer()(tuple(leaves)) == nest


def test_given_a_list_then_it_is_a_tuple_at_the_top_and_a_leaf_below() -> None:
    assert structure_of([1, 2]) == structure_of((1, 2))
    assert structure_of(([1, 2], 3)).leaves == 2


def test_given_dicts_with_other_orders_of_keys_then_the_first_order_holds() -> None:
    structure = structure_of({"a": 1, "b": 2})
    assert structure.flatten({"b": 4, "a": 3}) == [3, 4]


@pytest.mark.parametrize("other", [{"a": 1}, {"a": 1, "c": 2}, (1, 2), 3, {"a": 1, "b": 2, "c": 3}])
def test_given_another_structure_then_the_error_shows_both(other: Any) -> None:
    structure = structure_of({"a": 1, "b": 2})
    with pytest.raises(TypeError, match=r"expected the structure \{'a': leaf, 'b': leaf\}, got"):
        structure.flatten(other)


def test_a_spec_knows_what_it_covers() -> None:
    spec = ps.TensorSpec((None, 3), np.float32)
    assert spec.accepts(np.zeros((5, 3), np.float32))
    assert not spec.accepts(np.zeros((5, 3), np.float64))
    assert not spec.accepts(np.zeros((5, 4), np.float32))
    assert not spec.accepts(np.zeros(3, np.float32))
    assert ps.TensorSpec(None, np.int64).accepts(np.zeros((1, 2, 3), np.int64))
    assert ps.TensorSpec((), bytes) == spec_of(b"abc")
    assert spec_of(np.array([b"a", b"bc"], object)) == ps.TensorSpec((2,), BYTES)


def test_a_spec_knows_the_bytes_of_a_row_if_they_are_fixed() -> None:
    assert ps.TensorSpec((2, 3), np.float32).row_bytes == 24
    assert ps.TensorSpec((None, 3), np.float32).row_bytes is None
    assert ps.TensorSpec((), str).row_bytes is None


def test_a_spec_is_frozen_and_equal_by_value() -> None:
    spec = ps.TensorSpec([2, None], "int32")
    assert spec == ps.TensorSpec((2, None), np.int32)
    assert hash(spec) == hash(ps.TensorSpec((2, None), np.int32))
    with pytest.raises(AttributeError):
        spec.shape = (1,)


@pytest.mark.parametrize(("shape", "dtype"), [((-1,), "int32"), ((2,), "no such"), (("a",), "int8")])
def test_given_nonsense_then_a_spec_is_refused(shape: Any, dtype: Any) -> None:
    with pytest.raises((ps.errors.ArgumentTypeError, ValueError)):
        ps.TensorSpec(shape, dtype)
