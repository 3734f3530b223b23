"""An array that grows and shrinks in place."""

from __future__ import annotations

import numpy as np

from penstock.memory.pages import PAGE, GrowingArray


def filled(rows: int) -> GrowingArray:
    array = GrowingArray((PAGE,), np.dtype(np.uint8))
    array.resize(rows)
    array.rows[:] = np.arange(rows, dtype=np.uint8)[:, None]
    return array


def test_when_it_is_resized_then_the_first_rows_stay() -> None:
    array = filled(3)
    array.resize(5)
    assert array.rows[:3, 0].tolist() == [0, 1, 2]
    array.resize(2)
    assert array.rows[:, 0].tolist() == [0, 1]
    array.close()
    assert len(array.rows) == 0


def test_when_somebody_looks_at_its_rows_then_it_is_resized_and_closed_all_the_same() -> None:
    array = filled(3)
    seen = array.rows  # a debugger, say, that walks through all objects
    array.resize(5)
    assert array.rows[:3, 0].tolist() == [0, 1, 2]
    array.rows[0] = 9
    assert seen[:, 0].tolist() == [0, 1, 2]
    array.resize(4)
    looked = array.rows
    array.close()
    assert looked[:3, 0].tolist() == [9, 1, 2]
