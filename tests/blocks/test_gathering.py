"""Rows that are gathered one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.blocks.build import column_of
from penstock.blocks.gathering import LARGE, Gathering, gatherings, is_large

IMAGE = np.arange(LARGE, dtype=np.uint8).reshape(-1, 16)


def like(*leaves: Any) -> list[Any]:
    return list(leaves)


@pytest.mark.parametrize(
    "leaves",
    [
        like(IMAGE, IMAGE + 1, IMAGE + 2),
        like(IMAGE, IMAGE[1:], IMAGE),
        like(IMAGE, IMAGE.astype(np.float32)),
        like(IMAGE, b"none", None),
        like(IMAGE, IMAGE, np.uint8(3)),
        like(IMAGE),
        like(IMAGE[:1], IMAGE, IMAGE),
        like(np.asfortranarray(IMAGE), IMAGE),
        like("a", "b"),
    ],
    ids=str,
)
def test_given_any_leaves_then_the_column_is_that_of_all_at_once(leaves: list[Any]) -> None:
    gathering = Gathering(leaves[0], 5, 1 << 20, np.empty)
    for leaf in leaves:
        gathering.add(leaf)
    made, expected = gathering.column(), column_of(leaves)
    assert (type(made), made.rows) == (type(expected), len(leaves))
    for i in range(len(leaves)):
        got, leaf = made.item(i), expected.item(i)
        assert (type(got), getattr(got, "dtype", None)) == (type(leaf), getattr(leaf, "dtype", None))
        np.testing.assert_array_equal(got, leaf)


def test_given_large_arrays_then_they_are_copied_as_they_come() -> None:
    gathering = Gathering(IMAGE, 4, 1 << 20, np.empty)
    row = IMAGE.copy()
    gathering.add(row)
    row[:] = 0
    np.testing.assert_array_equal(gathering.column().item(0), IMAGE)


def test_given_room_for_some_then_no_more_is_asked_for() -> None:
    asked: list[tuple[int, ...]] = []

    def empty(shape: Any, dtype: Any) -> Any:
        asked.append(shape)
        return np.empty(shape, dtype)

    Gathering(IMAGE, 1000, 3 * LARGE, empty)
    Gathering(IMAGE, 2, 1 << 30, empty)
    assert [shape[0] for shape in asked] == [4, 2]


@pytest.mark.parametrize("leaf", [IMAGE[:2], b"a" * LARGE, np.full(LARGE, None), 3.0])
def test_given_small_leaves_and_others_then_nothing_is_gathered(leaf: Any) -> None:
    assert not is_large(leaf)
    assert gatherings([leaf], 10, 1 << 20, np.empty) is None
    assert gatherings([IMAGE], 1, 1 << 20, np.empty) is None
