"""Columns of items put together to a column of lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import BytesColumn, Column, DenseColumn, ObjectColumn, RaggedColumn

Index = NDArray[np.int64]


class RowsError(ValueError):
    """Some rows cannot be elements: which, and what each of them has, in words."""

    def __init__(self, what: str, rows: NDArray[Any]) -> None:
        super().__init__(f"{what}, in {len(rows)} rows, the first of them row {rows[0]} here")
        self.what = what
        self.rows = rows


def in_lists(items: Column, offsets: Index, path: str) -> Column:
    """List `i` has the items from `offsets[i]` up to `offsets[i + 1]`; the first offset is 0."""
    lengths = np.diff(offsets)
    if isinstance(items, DenseColumn):
        shape = items.array.shape[1:]
        one = int(np.prod(shape, dtype=np.int64))
        sizes = np.broadcast_to(np.array(shape, np.int64), (len(lengths), len(shape)))
        shapes = np.concatenate([lengths[:, None], sizes], axis=1)
        return RaggedColumn(items.array.reshape(-1), offsets * one, shapes)
    if isinstance(items, RaggedColumn):
        return _of_ragged(items, offsets, lengths, path)
    assert isinstance(items, BytesColumn)
    size = int(lengths[0]) if len(lengths) else 0
    if size and (lengths == size).all():
        return items.reshaped((size, *items.shape))
    return _of_strings(items, offsets)


def in_fixed_lists(items: Column, size: int, rows: int, path: str) -> Column:
    """Lists of `size` items each."""
    if isinstance(items, DenseColumn):
        return DenseColumn(items.array.reshape(rows, size, *items.array.shape[1:]))
    return in_lists(items, np.arange(rows + 1, dtype=np.int64) * size, path)


def _of_ragged(items: RaggedColumn, offsets: Index, lengths: Index, path: str) -> RaggedColumn:
    """Lists of arrays, which must be of one shape within each list."""
    rank = items.shapes.shape[1]
    sizes = np.zeros((len(lengths), rank), np.int64)
    some = lengths > 0
    sizes[some] = items.shapes[offsets[:-1][some]]
    differ = (items.shapes != np.repeat(sizes, lengths, axis=0)).any(axis=1)
    if differ.any():
        rows = np.unique(np.searchsorted(offsets, np.flatnonzero(differ), "right") - 1)
        raise RowsError(f"column {path!r} has lists of several lengths in one list, which are no array", rows)
    shapes = np.concatenate([lengths[:, None], sizes], axis=1)
    return RaggedColumn(items.values, items.offsets[offsets], shapes)


def _of_strings(items: BytesColumn, offsets: Index) -> ObjectColumn:
    """Arrays of strings of several lengths: the one thing that only Python's objects can hold."""
    flat = np.empty(len(items.offsets) - 1, object)
    flat[:] = items.strings()
    width = items.width
    rows = np.empty(len(offsets) - 1, object)
    for i, (start, stop) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        rows[i] = flat[start * width : stop * width].reshape(stop - start, *items.shape)
    return ObjectColumn(rows)
