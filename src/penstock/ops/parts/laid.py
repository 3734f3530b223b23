"""Where the rows of one leaf of a batch are laid, part by part, in memory that is taken once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import column_of_array
from penstock.blocks.columns import BytesColumn, Column
from penstock.kernels.spans import Empty
from penstock.ops.parts import padding
from penstock.ops.parts.assembly import lock


class Laid(Protocol):
    """One leaf of a batch that is being made."""

    def lay(self, column: Column) -> None:
        """Take the next rows."""

    def column(self) -> Column:
        """The batch, when all rows have been laid."""


def lay_part(laid: Sequence[Laid], part: Block) -> None:
    """Lay the next rows of every leaf."""
    for leaf, column in zip(laid, part.columns, strict=True):
        leaf.lay(column)


class LaidArray:
    """Rows of any shapes in one array, padded."""

    def __init__(self, out: NDArray[Any], value: Any, count: int, *, locked: bool = False) -> None:
        """`locked` says that the batch is read-only, since some of its rows are."""
        self._locked = locked
        self._out = out
        self._value = value
        self._count = count
        self._at = 0

    def lay(self, column: Column) -> None:
        rows = column.rows
        padding.lay(column, self._out[self._at : self._at + rows], self._value)
        self._at += rows

    def column(self) -> Column:
        out, count = self._out, self._count
        column = column_of_array(out.reshape(count, len(out) // count, *out.shape[1:]))
        if self._locked:
            lock(column)
        return column


class LaidStrings:
    """Strings, or arrays of them of one shape, end to end."""

    def __init__(self, size: int, shape: tuple[int, ...], empty: Empty, *, text: bool) -> None:
        """`size` is the bytes of all strings, `shape` that of the batch."""
        self._values = empty(size, np.uint8)
        self._offsets = empty(int(np.prod(shape, dtype=np.int64)) + 1, np.int64)
        self._offsets[0] = 0
        self._shape = shape
        self._text = text
        self._at = self._have = 0

    def lay(self, column: Column) -> None:
        assert isinstance(column, BytesColumn)
        offsets, at = column.offsets, self._at
        begin, end = int(offsets[0]), int(offsets[-1])
        self._values[self._have : self._have + end - begin] = column.values[begin:end]
        np.add(offsets[1:], self._have - begin, out=self._offsets[at + 1 : at + len(offsets)])
        self._at += len(offsets) - 1
        self._have += end - begin

    def column(self) -> Column:
        return BytesColumn(self._values, self._offsets, text=self._text, shape=self._shape)
