"""Rows of a user's array by their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import DenseColumn, Index
from penstock.kernels.spans import Empty


class Picked(DenseColumn):
    """Rows of a user's array by their numbers, gathered when they are first asked for."""

    __slots__ = ("_empty", "_gathered", "index", "source")

    def __init__(self, source: NDArray[Any], index: Index, empty: Empty) -> None:
        self.source = source
        self.index = index
        self._empty = empty
        self._gathered: NDArray[Any] | None = None

    @property
    def array(self) -> NDArray[Any]:
        """The rows."""
        if self._gathered is None:
            self._gathered = DenseColumn(self.source).take(self.index, self._empty).array
        return self._gathered

    @array.setter
    def array(self, array: NDArray[Any]) -> None:
        self._gathered = array

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.source.dtype

    @property
    def row_shape(self) -> tuple[int, ...]:
        return self.source.shape[1:]

    @property
    def locked(self) -> bool:
        return self._gathered is not None and not self._gathered.flags.writeable

    @property
    def rows(self) -> int:
        return len(self.index)

    @property
    def nbytes(self) -> int:
        return len(self.index) * (self.source.nbytes // max(len(self.source), 1))

    def slice(self, start: int, stop: int) -> DenseColumn:
        if self._gathered is not None:
            return DenseColumn(self._gathered[start:stop])
        return Picked(self.source, self.index[start:stop], self._empty)

    def reshaped(self, shape: tuple[int, ...]) -> DenseColumn:
        if self._gathered is not None:
            return super().reshaped(shape)
        return Picked(self.source.reshape(len(self.source), *shape), self.index, self._empty)

    @property
    def waits(self) -> bool:
        """Whether nobody has asked for them yet."""
        return self._gathered is None

    def settle(self) -> bool:
        return self._gathered is None and self.array is not None

    def buffers(self) -> tuple[NDArray[Any], ...]:
        return (self.index,) if self._gathered is None else (self._gathered,)
