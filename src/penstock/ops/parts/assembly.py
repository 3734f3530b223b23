"""Rows that come in parts, put together as they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import concat
from penstock.blocks.columns import Column, DenseColumn, RaggedColumn
from penstock.blocks.origin import Origin
from penstock.blocks.structure import Structure
from penstock.kernels.spans import Empty
from penstock.memory.buffers import is_stacked
from penstock.ops.parts.stacks import stack_of


def is_locked(column: Column) -> bool:
    """Whether the rows are read-only: views of the user's own arrays, or of a cache."""
    if isinstance(column, DenseColumn):
        return column.locked
    return isinstance(column, RaggedColumn) and not column.values.flags.writeable


def lock(column: Column) -> None:
    """Make the rows read-only: what is made of read-only rows is so, whether it was copied or not."""
    if isinstance(column, DenseColumn):
        column.array = read_only(column.array)
    elif isinstance(column, RaggedColumn):
        column.values = read_only(column.values)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def joined(parts: Sequence[Block], empty: Empty) -> Block:
    """The rows of several blocks in one, read-only where any of them are."""
    return locked_like(parts, concat(parts, empty))


def locked_like(parts: Sequence[Block], block: Block) -> Block:
    """The block that was made of `parts`, with each column read-only where it is so in any of them."""
    if len(parts) > 1:
        for i, column in enumerate(block.columns):
            if any(is_locked(part.columns[i]) for part in parts):
                lock(column)
    return block


class Assembly:
    """Gathers up to `size` rows into one block.

    Rows of one shape go straight to their place in the block that is made of them, so that nothing
    but that block and one part are held at a time; other rows are kept in parts, and then joined.
    """

    def __init__(self, size: int, empty: Empty) -> None:
        self._size = size
        self._empty = empty
        self._structure: Structure | None = None
        self._outs: list[NDArray[Any]] | None = None
        self._parts: list[Block] = []
        self._locked: list[bool] = []
        self._origin: Origin | None = None
        self.rows = 0

    def add(self, block: Block) -> None:
        """Take more rows, no more than there is room for."""
        if self.rows == 0:
            self._begin(block)
        if self._outs is not None and not self._fits(block):
            self._parts = [self._placed()]
            self._outs = None
        self._locked = [
            locked or is_locked(column) for locked, column in zip(self._locked, block.columns, strict=True)
        ]
        if self._outs is None:
            self._parts.append(block)
        else:
            for i, (out, column) in enumerate(zip(self._outs, block.columns, strict=True)):
                assert isinstance(column, DenseColumn)
                self._outs[i] = self._laid(out, column.array)
        self.rows += block.rows

    def _laid(self, out: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
        """The block that is being made, with these rows in it, which may lie where they belong."""
        part = out[self.rows : self.rows + len(rows)]
        if part.ctypes.data == rows.ctypes.data and rows.flags.c_contiguous:
            return out
        if is_stacked(out):  # other rows are going to lie there
            own = self._empty(out.shape, out.dtype)
            own[: self.rows] = out[: self.rows]
            out, part = own, own[self.rows : self.rows + len(rows)]
        part[...] = rows
        return out

    def _begin(self, block: Block) -> None:
        self._structure, self._origin = block.structure, block.origin
        self._locked = [False] * len(block.columns)
        arrays = [column.array for column in block.columns if isinstance(column, DenseColumn)]
        if len(arrays) == len(block.columns):
            self._outs = [self._begun(array) for array in arrays]

    def _begun(self, array: NDArray[Any]) -> NDArray[Any]:
        stack = stack_of(array, self._size)
        return self._empty((self._size, *array.shape[1:]), array.dtype) if stack is None else stack

    def _fits(self, block: Block) -> bool:
        assert self._outs is not None
        return all(
            isinstance(column, DenseColumn)
            and column.array.dtype == out.dtype
            and column.array.shape[1:] == out.shape[1:]
            for out, column in zip(self._outs, block.columns, strict=True)
        )

    def _placed(self) -> Block:
        assert self._outs is not None and self._structure is not None
        columns = [DenseColumn(out[: self.rows]) for out in self._outs]
        return Block(self._structure, columns, self.rows)

    def take(self) -> Block:
        """The rows so far, in one block; the next rows begin another."""
        block = concat(self._parts, self._empty) if self._outs is None else self._placed()
        for locked, column in zip(self._locked, block.columns, strict=True):
            if locked:
                lock(column)
        block.origin = self._origin  # of the first row, which is all that is asked for
        self.clear()
        return block

    def clear(self) -> None:
        """Forget the rows so far."""
        self._outs, self._parts, self._origin, self.rows = None, [], None, 0
