"""Columns copied to memory of their own."""

from __future__ import annotations

from penstock.blocks.columns import BytesColumn, Column, DenseColumn, RaggedColumn
from penstock.kernels.spans import Empty


def copied(column: Column, empty: Empty) -> Column:
    """The same rows in memory from `empty`: whoever has the memory that they were in can let it go."""
    if isinstance(column, DenseColumn):
        out = empty(column.array.shape, column.array.dtype)
        out[...] = column.array
        return DenseColumn(out)
    if isinstance(column, BytesColumn | RaggedColumn):
        first, last = int(column.offsets[0]), int(column.offsets[-1])
        values = empty(last - first, column.values.dtype)
        values[...] = column.values[first:last]
        offsets = column.offsets - first
        if isinstance(column, BytesColumn):
            return BytesColumn(values, offsets, text=column.text, shape=column.shape)
        return RaggedColumn(values, offsets, column.shapes.copy())
    return column
