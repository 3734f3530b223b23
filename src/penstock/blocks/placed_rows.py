"""Rows of numbers that lie anywhere in larger buffers, and are laid side by side when they are asked for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import Column, DenseColumn, Index
from penstock.blocks.placed import Held, PlacedStrings, publishing
from penstock.kernels.spans import Empty, move_places


class PlacedRows(DenseColumn):
    """Rows of one dtype and shape by their addresses; `held` are the buffers that they lie in.

    Nothing may be written to them.
    """

    __slots__ = ("_dtype", "_empty", "_laid", "_shape", "begins", "held")

    def __init__(
        self, begins: Index, held: Held, dtype: np.dtype[Any], shape: tuple[int, ...], empty: Empty
    ) -> None:
        self.begins = begins
        self.held = held
        self._dtype = dtype
        self._shape = shape
        self._empty = empty
        self._laid: NDArray[Any] | None = None

    @property
    def array(self) -> NDArray[Any]:
        """The rows, side by side."""
        held, laid = self.held, self._laid  # another thread may be laying them as well
        if laid is None:
            laid = self.take(np.arange(len(self.begins)), self._empty).array
            laid.flags.writeable = False
            with publishing:  # the first stays: somebody may have its address
                laid = self._laid = laid if self._laid is None else self._laid
            self.held = ()
        del held
        return laid

    @array.setter
    def array(self, array: NDArray[Any]) -> None:
        self._laid, self.held = array, ()

    @property
    def waits(self) -> bool:
        """Whether nobody has asked for them yet."""
        return self._laid is None

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def row_shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def locked(self) -> bool:
        return self._laid is None or not self._laid.flags.writeable

    @property
    def rows(self) -> int:
        return len(self.begins)

    @property
    def nbytes(self) -> int:
        return len(self.begins) * self._row_bytes

    @property
    def _row_bytes(self) -> int:
        return math.prod(self._shape) * self._dtype.itemsize

    def slice(self, start: int, stop: int) -> DenseColumn:
        held = self.held
        if self._laid is not None:
            return DenseColumn(self._laid[start:stop])
        return PlacedRows(self.begins[start:stop], held, self._dtype, self._shape, self._empty)

    def take(self, index: Index, empty: Empty = np.empty) -> DenseColumn:
        held = self.held
        if self._laid is not None:
            return super().take(index, empty)
        out = empty((len(index), *self._shape), self._dtype)
        self._put(index, out, np.arange(len(index)))
        del held
        return DenseColumn(out)

    def put(self, index: Index | None, out: NDArray[Any], places: Index) -> None:
        """Write the rows of these numbers, or all, to these rows of `out`, which lies in one piece."""
        held = self.held
        if self._laid is not None:
            out[places] = self._laid if index is None else self._laid[index]
        else:
            self._put(index, out, places)
        del held

    def _put(self, index: Index | None, out: NDArray[Any], places: Index) -> None:
        size = self._row_bytes
        begins = self.begins if index is None else self.begins[index]
        move_places(begins, np.full(len(begins), size), out, places * size)

    def reshaped(self, shape: tuple[int, ...]) -> DenseColumn:
        held = self.held
        if self._laid is not None:
            return super().reshaped(shape)
        return PlacedRows(self.begins, held, self._dtype, shape, self._empty)

    def item(self, row: int) -> Any:
        return self.slice(row, row + 1).array[0]

    def items(self) -> Any:
        return self.array

    def settle(self) -> bool:
        return self._laid is None and self.array is not None

    def buffers(self) -> tuple[NDArray[Any], ...]:
        held = self.held
        return (*held, self.begins) if self._laid is None else (self._laid,)


def row_places(column: Column) -> tuple[Index, Held] | None:
    """The addresses of a column's rows, and the buffers they lie in; None where rows are not one piece."""
    if isinstance(column, PlacedRows):
        held = column.held
        if column.waits:
            return column.begins, held
    if not isinstance(column, DenseColumn) or column.dtype.hasobject:
        return None
    array = column.array
    if not array.flags.c_contiguous:
        return None
    return array.ctypes.data + np.arange(len(array)) * array[:1].nbytes, (array,)


def is_placed(column: Column) -> bool:
    """Whether its rows are still where they were read to."""
    return isinstance(column, PlacedRows | PlacedStrings) and column.waits
