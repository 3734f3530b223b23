"""Rows that come in parts, put together as they come."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import concat
from penstock.blocks.columns import DenseColumn
from penstock.blocks.structure import Structure
from penstock.kernels.spans import Empty


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
        self.rows = 0

    def add(self, block: Block) -> None:
        """Take more rows, no more than there is room for."""
        if self.rows == 0:
            self._begin(block)
        if self._outs is not None and not self._fits(block):
            self._parts = [self._placed()]
            self._outs = None
        if self._outs is None:
            self._parts.append(block)
        else:
            for out, column in zip(self._outs, block.columns, strict=True):
                assert isinstance(column, DenseColumn)
                out[self.rows : self.rows + block.rows] = column.array
        self.rows += block.rows

    def _begin(self, block: Block) -> None:
        self._structure = block.structure
        arrays = [column.array for column in block.columns if isinstance(column, DenseColumn)]
        if len(arrays) == len(block.columns):
            self._outs = [self._empty((self._size, *array.shape[1:]), array.dtype) for array in arrays]

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
        self.clear()
        return block

    def clear(self) -> None:
        """Forget the rows so far."""
        self._outs, self._parts, self.rows = None, [], 0
