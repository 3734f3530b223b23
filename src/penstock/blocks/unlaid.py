"""The stand-in of a leaf whose rows are still where they were read to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import DenseColumn
from penstock.blocks.placed_rows import PlacedRows
from penstock.blocks.rows import Rows
from penstock.blocks.trace import Trace, marking


class Unlaid(Rows):
    """Rows that are laid side by side when a function asks for more than their shape."""

    __slots__ = ("column",)

    def __init__(self, column: DenseColumn, trace: Trace) -> None:
        self._trace = trace
        self.column = column
        trace.largest = max(trace.largest, column.nbytes)

    @property
    def _held(self) -> NDArray[Any]:  # type: ignore[override]
        array = self.column.array
        if not any(array is source for source in self._trace.sources):
            self._trace.sources.append(array)
        return array

    @property
    def _pending(self) -> None:  # type: ignore[override]
        return None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a row."""
        return self.column.row_shape

    @property
    def ndim(self) -> int:
        """The rank of a row."""
        return len(self.column.row_shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a row."""
        return self.column.dtype

    @marking
    def reshape(self, *shape: Any, **named: Any) -> Any:
        """The row in another shape."""
        sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        column = self.column
        known = all(type(size) is int and size > 0 for size in sizes)
        if isinstance(column, PlacedRows) and known and not named and math.prod(sizes) == self.size:
            return Unlaid(column.reshaped(sizes), self._trace)
        return Rows.__getattr__(self, "reshape")(*shape, **named)
