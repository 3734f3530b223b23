"""Rows of strings, numbers and arrays as records: the bytes of a row, end to end.

A record begins with the whole numbers that say how long its parts are, 8 bytes each: the length of
every string, the shape of every array. The parts follow, column by column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import as_ragged
from penstock.blocks.columns import BytesColumn, Column, DenseColumn, ObjectColumn, RaggedColumn
from penstock.blocks.placed import Held, PlacedStrings, places_of
from penstock.blocks.structure import Structure
from penstock.kernels.spans import Empty, gather_places, gather_spans, move_places, offsets_of, scatter_spans

Index = NDArray[np.int64]
Raw = NDArray[np.uint8]
Taken = Callable[[int, Index, Index], tuple[Raw, Index]]
"""The bytes of a column, by its number, where they are in the records and their lengths; with offsets."""


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
        header = np.ascontiguousarray(np.concatenate([column.numbers for column in flat], axis=1))
        self._header = header.view(np.uint8)
        self._columns = flat
        self.numbers = header
        """The whole numbers that the records begin with."""
        self.lengths = np.full(block.rows, self._header.shape[1], np.int64)
        for column in flat:
            self.lengths += column.lengths

    def write(self, out: Raw, places: Index, rows: Index) -> None:
        """Write the records of these rows to `out`, each from its place on."""
        width = self._header.shape[1]
        if width:
            out[places[:, None] + np.arange(width)] = self._header[rows]
        at = places + width
        for column in self._columns:
            lengths = column.lengths[rows]
            if column.values is None:
                move_places(column.starts[rows], lengths, out, at)
            else:
                scatter_spans(out, at, column.values, column.starts[rows], lengths)
            at = at + lengths

    def begins(self, column: int, rows: Index) -> Index:
        """The addresses of these rows of a column."""
        flat = self._columns[column]
        starts = flat.starts[rows]
        return starts if flat.values is None else starts + flat.values.ctypes.data


class _Flat(NamedTuple):
    """The rows of a column: whole numbers, and bytes, which lie in `values` or else at addresses."""

    numbers: Index
    values: Raw | None
    starts: Index
    lengths: Index
    held: Held = ()
    """The buffers that addresses point into."""


def _flat(column: Column) -> _Flat:
    if isinstance(column, PlacedStrings) and column.shape == ():
        starts, lengths, held = places_of(column)
        return _Flat(lengths[:, None], None, starts, lengths, held)
    if isinstance(column, BytesColumn):
        numbers = np.diff(column.offsets).reshape(column.rows, column.width)
        offsets = column.offsets[:: column.width] if column.width > 1 else column.offsets
        return _Flat(numbers, column.values, offsets[:-1], np.diff(offsets))
    if isinstance(column, DenseColumn) and column.array.ndim == 1:
        none = np.zeros((column.rows, 0), np.int64)
        raw = np.ascontiguousarray(column.array).view(np.uint8)
        size = column.array.itemsize
        return _Flat(none, raw, np.arange(column.rows) * size, np.full(column.rows, size))
    ragged = as_ragged(column)
    offsets = ragged.offsets * ragged.values.itemsize
    raw = np.ascontiguousarray(ragged.values).view(np.uint8)
    return _Flat(ragged.shapes, raw, offsets[:-1], np.diff(offsets))


def decode(structure: Structure, parts: tuple[Part, ...], raw: Raw, starts: Index, empty: Empty) -> Block:
    """The rows whose records begin at `starts`."""
    header = _header(parts, raw, starts)

    def taken(_: int, at: Index, lengths: Index) -> tuple[Raw, Index]:
        return gather_spans(raw, at, lengths, empty)

    return _decoded(structure, parts, header, starts, taken)


def decode_both(
    structure: Structure,
    parts: tuple[Part, ...],
    raw: Raw,
    starts: Index,
    coming: tuple[Index, Encoded, Index],
    empty: Empty,
) -> Block:
    """The rows whose records begin at `starts`; in some places, those that `coming` has for them.

    These are the places, where the rows are from, and which of them they are.
    """
    places, encoded, rows = coming
    here = np.ones(len(starts), bool)
    here[places] = False
    header = np.empty((len(starts), encoded.numbers.shape[1]), np.int64)
    header[here], header[places] = _header(parts, raw, starts[here]), encoded.numbers[rows]

    def taken(column: int, at: Index, lengths: Index) -> tuple[Raw, Index]:
        begins = at + raw.ctypes.data
        begins[places] = encoded.begins(column, rows)
        return gather_places(begins, lengths, empty)

    return _decoded(structure, parts, header, starts, taken)


def _header(parts: tuple[Part, ...], raw: Raw, starts: Index) -> Index:
    """The whole numbers of the records that begin there."""
    width = 8 * sum(part.numbers for part in parts)
    header: Index = raw[starts[:, None] + np.arange(width)].view(np.int64)
    return header


def _decoded(
    structure: Structure, parts: tuple[Part, ...], header: Index, starts: Index, taken: Taken
) -> Block:
    at = starts + 8 * header.shape[1]
    columns: list[Column] = []
    first = 0
    for column, part in enumerate(parts):
        numbers = header[:, first : first + part.numbers]
        first += part.numbers
        lengths = _lengths(part, numbers, len(starts))
        values, offsets = taken(column, at, lengths)
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
