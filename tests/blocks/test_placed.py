"""Strings and rows that are still where they were read to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock.kernels.compiled.spans  # noqa: F401  (placing is for where kernels are loaded)
from penstock.blocks.columns import BytesColumn, DenseColumn
from penstock.blocks.placed import LARGE, PlacedStrings, picked, places_of
from penstock.blocks.placed_rows import PlacedRows

RAW = np.random.default_rng(5).integers(0, 256, 4000, np.uint8)
BEGINS, LENGTHS = [700, 0, 2500, 10, 3000, 700], [5, 300, 0, 1, 999, 5]
STRINGS = [RAW[begin : begin + length].tobytes() for begin, length in zip(BEGINS, LENGTHS, strict=True)]


class Asked:
    """Allocates, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, shape: Any, dtype: Any) -> Any:
        self.times += 1
        return np.empty(shape, dtype)


def strings(empty: Any = np.empty, shape: tuple[int, ...] = ()) -> PlacedStrings:
    raw = RAW.copy()  # nothing but the column holds on to it
    return PlacedStrings(np.array(BEGINS) + raw.ctypes.data, np.array(LENGTHS), [raw], empty, shape=shape)


def test_given_placed_strings_when_read_then_they_are_those_that_lie_there() -> None:
    column = strings()
    assert column.rows == 6
    assert column.nbytes == sum(LENGTHS) + 8 * 7
    assert column.item(1) == STRINGS[1]
    assert column.waits
    assert column.strings() == STRINGS
    assert not column.waits
    assert [column.item(row) for row in range(6)] == STRINGS


def test_given_placed_strings_when_sliced_or_taken_then_nothing_else_is_laid() -> None:
    column = strings()
    index = np.array([4, 4, 1])
    for _ in range(2):  # before they are laid, and after
        assert column.slice(1, 4).strings() == STRINGS[1:4]
        assert column.take(index).strings() == [STRINGS[i] for i in index]
        assert column.reshaped((2,)).slice(1, 3).strings() == STRINGS[2:]
        assert column.reshaped((2,)).take(np.array([2, 0])).strings() == STRINGS[4:] + STRINGS[:2]
        column.settle()


def test_given_placed_strings_when_laid_then_once_and_the_buffer_is_let_go() -> None:
    empty = Asked()
    column = strings(empty)
    assert len(column.buffers()) == 3
    column.settle()
    assert column.offsets is column.offsets
    assert column.values is column.values
    assert empty.times == 1
    assert len(column.buffers()) == 2
    assert not column.held


def rows(empty: Any = np.empty) -> tuple[PlacedRows, np.ndarray[Any, Any]]:
    raw = RAW.copy()
    begins = np.array([40, 0, 801, 40])
    expected = np.stack([raw[begin : begin + 24].copy().view(np.int32).reshape(2, 3) for begin in begins])
    return PlacedRows(begins + raw.ctypes.data, [raw], np.dtype(np.int32), (2, 3), empty), expected


def test_given_placed_rows_when_read_then_they_are_those_that_lie_there_and_read_only() -> None:
    column, expected = rows()
    assert (column.dtype, column.row_shape, column.rows, column.nbytes) == (np.int32, (2, 3), 4, 96)
    assert column.locked
    np.testing.assert_array_equal(column.item(2), expected[2])
    assert column.waits
    np.testing.assert_array_equal(column.array, expected)
    assert not column.array.flags.writeable
    assert column.locked
    assert not column.held


def test_given_placed_rows_when_sliced_taken_or_reshaped_then_they_are_as_those_of_an_array() -> None:
    column, expected = rows()
    index = np.array([3, 1, 1])
    for _ in range(2):
        np.testing.assert_array_equal(column.slice(1, 3).array, expected[1:3])
        taken = column.take(index)
        np.testing.assert_array_equal(taken.array, expected[index])
        assert taken.array.flags.writeable
        np.testing.assert_array_equal(column.reshaped((6,)).array, expected.reshape(4, 6))
        column.settle()


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("index", [None, [2, 0]])
def test_given_placed_rows_when_put_then_they_are_in_these_places_and_the_others_stay(
    index: list[int] | None, settled: bool
) -> None:
    column, expected = rows()
    if settled:
        column.settle()
    chosen = range(4) if index is None else index
    places = np.array([5, 1, 7, 0])[: len(chosen)]
    out = np.full((9, 2, 3), -1, np.int32)
    wanted = out.copy()
    wanted[places] = expected[list(chosen)]
    column.put(None if index is None else np.array(index), out, places)
    np.testing.assert_array_equal(out, wanted)


def long(count: int, size: int, *, text: bool = False) -> BytesColumn:
    raw = np.resize(np.arange(97, 123, dtype=np.uint8), count * size + 3)
    return BytesColumn(raw, 3 + np.arange(count + 1) * size, text=text)


def test_given_long_strings_of_several_columns_when_picked_then_they_stay_where_they_are() -> None:
    columns = [long(3, 2 * LARGE), long(2, LARGE + 7), strings().slice(1, 2)]
    index = np.array([5, 0, 4, 0])
    expected = [string for column in columns for string in column.strings()]
    got = picked(columns, index, np.empty)
    assert got is not None
    assert got.waits
    assert got.strings() == [expected[i] for i in index]


def test_given_short_strings_or_other_columns_when_picked_then_it_is_none_of_our_business() -> None:
    index = np.array([1, 0])
    assert picked([long(3, LARGE // 2), long(2, 9)], index, np.empty) is None
    assert picked([long(3, LARGE), long(3, LARGE, text=True)], index, np.empty) is None
    assert picked([long(4, LARGE).reshaped((2,))], index, np.empty) is None
    assert picked([long(3, LARGE), DenseColumn(np.zeros((3, LARGE)))], index, np.empty) is None


def test_given_places_of_strings_that_were_laid_then_they_are_those_of_what_was_laid() -> None:
    column = strings()
    column.settle()
    begins, lengths, held = places_of(column)
    assert held == (column.values,)
    assert (begins - column.values.ctypes.data).tolist() == column.offsets[:-1].tolist()
    assert lengths.tolist() == LENGTHS
