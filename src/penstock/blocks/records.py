"""Rows of strings, numbers and arrays as records: the bytes of a row, end to end.

A record begins with the whole numbers that say how long its parts are, 8 bytes each: the length of
every string, the shape of every array. The parts follow, column by column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import as_ragged
from penstock.blocks.columns import BytesColumn, Column, DenseColumn, ObjectColumn, RaggedColumn
from penstock.blocks.structure import Structure
from penstock.kernels.spans import Empty, gather_spans, offsets_of, scatter_spans

Index = NDArray[np.int64]
Raw = NDArray[np.uint8]


@dataclass(frozen=True)
class Part:
    """One column of a record: how many whole numbers describe it, and what it is made of."""

    kind: str
    numbers: int
    dtype: np.dtype[Any]
    text: bool = False
    shape: tuple[int, ...] = ()


def parts_of(block: Block) -> tuple[Part, ...] | None:
    """What the records of a block's rows are made of; None where a leaf is an object."""
    if any(isinstance(column, ObjectColumn) for column in block.columns):
        return None
    return tuple(_part_of(column) for column in block.columns)


def _part_of(column: Column) -> Part:
    if isinstance(column, DenseColumn):
        rank = len(column.row_shape)
        return Part("array" if rank else "number", rank, column.dtype)
    if isinstance(column, RaggedColumn):
        return Part("array", column.shapes.shape[1], column.values.dtype)
    assert isinstance(column, BytesColumn)
    return Part("string", column.width, np.dtype(np.uint8), column.text, column.shape)


class Encoded:
    """A block's rows, ready to be written as records of these `lengths`."""

    def __init__(self, block: Block) -> None:
        flat = [_flat(column) for column in block.columns]
        numbers = [numbers for numbers, _, _ in flat]
        self._header = np.ascontiguousarray(np.concatenate(numbers, axis=1)).view(np.uint8)
        self._columns = [(values, offsets) for _, values, offsets in flat]
        self.lengths = np.full(block.rows, self._header.shape[1], np.int64)
        for _, offsets in self._columns:
            self.lengths += np.diff(offsets)

    def write(self, out: Raw, places: Index, rows: Index) -> None:
        """Write the records of these rows to `out`, each from its place on."""
        width = self._header.shape[1]
        if width:
            out[places[:, None] + np.arange(width)] = self._header[rows]
        at = places + width
        for values, offsets in self._columns:
            starts = offsets[:-1][rows]
            lengths = offsets[1:][rows] - starts
            scatter_spans(out, at, values, starts, lengths)
            at = at + lengths


def _flat(column: Column) -> tuple[Index, Raw, Index]:
    """The whole numbers of every row, and the bytes of all rows with their offsets."""
    if isinstance(column, BytesColumn):
        lengths = np.diff(column.offsets).reshape(column.rows, column.width)
        offsets = column.offsets[:: column.width] if column.width > 1 else column.offsets
        return lengths, column.values, offsets
    if isinstance(column, DenseColumn) and column.array.ndim == 1:
        none = np.zeros((column.rows, 0), np.int64)
        raw = np.ascontiguousarray(column.array).view(np.uint8)
        return none, raw, np.arange(column.rows + 1) * column.array.itemsize
    ragged = as_ragged(column)
    size = ragged.values.itemsize
    raw = np.ascontiguousarray(ragged.values).view(np.uint8)
    return ragged.shapes, raw, ragged.offsets * size


def decode(structure: Structure, parts: tuple[Part, ...], raw: Raw, starts: Index, empty: Empty) -> Block:
    """The rows whose records begin at `starts`."""
    count = sum(part.numbers for part in parts)
    at = starts + 8 * count
    header = np.zeros((len(starts), 0), np.int64)
    if count:
        header = raw[starts[:, None] + np.arange(8 * count)].view(np.int64)
    columns: list[Column] = []
    first = 0
    for part in parts:
        numbers = header[:, first : first + part.numbers]
        first += part.numbers
        lengths = _lengths(part, numbers, len(starts))
        values, offsets = gather_spans(raw, at, lengths, empty)
        columns.append(_column(part, numbers, values, offsets))
        at = at + lengths
    return Block(structure, columns, len(starts))


def _lengths(part: Part, numbers: Index, rows: int) -> Index:
    if part.kind == "number":
        return np.full(rows, part.dtype.itemsize, np.int64)
    if part.kind == "string":
        total: Index = numbers.sum(axis=1)
        return total
    items: Index = numbers.prod(axis=1)
    return items * part.dtype.itemsize


def _column(part: Part, numbers: Index, values: Raw, offsets: Index) -> Column:
    if part.kind == "string":
        return BytesColumn(values, offsets_of(numbers.ravel()), text=part.text, shape=part.shape)
    items = values.view(part.dtype)
    if part.kind == "number":
        return DenseColumn(items)
    if len(numbers) and (numbers == numbers[0]).all():
        return DenseColumn(items.reshape(len(numbers), *numbers[0].tolist()))
    return RaggedColumn(items, offsets // part.dtype.itemsize, np.ascontiguousarray(numbers))
