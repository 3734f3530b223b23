"""Elements of another structure than the one before them."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import pytest

from penstock.blocks.structure import LEAF, structure_of

Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("like", "element"),
    [
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, (1,)),
        ((1, 2), (1,)),
        ((1,), (1, 2)),
        ((1, 2), 5),
        ((1, 2), {"a": 1, "b": 2}),
        (1, (1, 2)),
        (1, {"a": 1}),
        ((1, (2, 3)), (1, 2)),
    ],
)
def test_given_another_structure_then_flattening_says_what_was_expected_and_what_came(
    like: Any, element: Any
) -> None:
    structure = structure_of(like)
    with pytest.raises(TypeError) as caught:
        structure.flatten(element)
    assert str(caught.value).startswith("expected the structure ")
    assert str(caught.value).endswith(f"got {structure_of(element)}") or structure.leaves == 3


@pytest.mark.parametrize("like", [(1, 2), Point(1, 2)])
def test_given_a_list_where_a_tuple_is_expected_then_it_stands_for_one(like: Any) -> None:
    assert structure_of(like).flatten([3, 4]) == [3, 4]


def test_given_a_list_then_it_is_a_tuple_at_the_top_and_a_leaf_below() -> None:
    assert structure_of([1, [2, 3]]) == structure_of((1, 2))
    assert structure_of([1, 2, 3]).leaves == 3
    assert structure_of([1, 2], top=False) is LEAF


@pytest.mark.parametrize(
    ("element", "text"),
    [
        (1, "leaf"),
        ((1,), "(leaf,)"),
        ((1, 2), "(leaf, leaf)"),
        ({"a": (1, 2)}, "{'a': (leaf, leaf)}"),
        (Point(1, (2,)), "Point(leaf, (leaf,))"),
    ],
)
def test_a_structure_is_shown_as_it_is_written(element: Any, text: str) -> None:
    assert str(structure_of(element)) == text


@pytest.mark.parametrize(
    "element", [1, (1, 2), {"b": 1, "a": 2}, Point(1, 2), (1, (2, 3)), {"k": {"z": 1}}, ()], ids=repr
)
def test_given_its_leaves_then_the_packer_gives_the_element(element: Any) -> None:
    structure = structure_of(element)
    packed = structure.packer()(tuple(structure.flatten(element)))
    assert packed == element
    assert type(packed) is type(element)
    if isinstance(element, dict):
        assert list(packed) == list(element)


def test_the_path_of_a_leaf_is_as_it_would_be_written() -> None:
    nest = {"a": (1, Point(2, 3)), 4: 5}
    assert structure_of(nest).paths() == ["['a'][0]", "['a'][1].x", "['a'][1].y", "[4]"]
    assert structure_of(nest).leaves == 4
