"""Writing blocks to Penstock's own files."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.build import column_of, concat
from penstock.blocks.columns import BytesColumn, Column, DenseColumn, ObjectColumn, RaggedColumn
from penstock.blocks.pack import pack
from penstock.blocks.spec import BYTES, TEXT
from penstock.io.formats.saved import (
    FIXED,
    ColumnLayout,
    Layout,
    ShardIndex,
    block_header,
    file_head,
    footer_of,
    padded,
    tail_of,
)
from penstock.io.formats.saved_structure import NotSaved, no_objects, said_of_dtype
from penstock.io.stores.writing import open_for_writing
from penstock.kernels.spans import Empty

BLOCK_BYTES = 1 << 20
"""About so many bytes make a block in a file, where the budget has room for that."""
CRUMBS = 64
"""So many small blocks are joined to one before more are gathered."""


@dataclass(frozen=True)
class SavedShard:
    """A file that is complete."""

    name: str
    rows: int
    bytes: int


class ShardWriter:
    """One file on its way; it is there when `finish` returns, or not at all."""

    def __init__(self, folder: Path, name: str) -> None:
        self._name = name
        self._file = open_for_writing(str(folder / name))
        self._layouts: dict[Layout, int] = {}
        self._table: list[list[int]] = []
        self.rows = 0
        self._file.write(file_head())

    @property
    def bytes(self) -> int:
        """How many bytes it has so far."""
        return self._file.tell()

    def add(self, block: Block) -> None:
        """Write one block, which has rows."""
        layout = tuple(layout_of(column) for column in block.columns)
        kind = self._layouts.setdefault(layout, len(self._layouts))
        flat = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for _, array in pack(block)[1]]
        places, crc, end = [], 0, 0
        for array in flat:
            places.append(end)
            crc = zlib.crc32(bytes(padded(array.nbytes) - array.nbytes), zlib.crc32(array.data, crc))
            end += padded(array.nbytes)
        start = self._file.tell()
        self._file.write(block_header(len(self._table), block.rows, end, crc, kind))
        for array in flat:
            if array.nbytes:
                self._file.write(array)
                self._file.write(bytes(padded(array.nbytes) - array.nbytes))
        self._table.append([start, block.rows, end, crc, kind, *places])
        self.rows += block.rows

    def finish(self) -> SavedShard:
        """Publish the file."""
        width = max((len(row) for row in self._table), default=FIXED)
        table = np.zeros((len(self._table), width), np.int64)
        for number, row in enumerate(self._table):
            table[number, : len(row)] = row
        index = ShardIndex(tuple(self._layouts), table)
        footer, start = footer_of(index), self._file.tell()
        self._file.write(footer)
        self._file.write(bytes(padded(len(footer)) - len(footer)))
        self._file.write(tail_of(footer, start, index))
        size = self._file.tell()
        self._file.commit()
        return SavedShard(self._name, self.rows, size)

    def discard(self) -> None:
        """Drop the file. May be called more than once, also after `finish`."""
        self._file.discard()


def layout_of(column: Column) -> ColumnLayout:
    """How a column will lie; `NotSaved` for one of objects."""
    if isinstance(column, DenseColumn):
        said_of_dtype(column.array.dtype)
        return ColumnLayout("dense", column.array.dtype, column.array.shape[1:])
    if isinstance(column, BytesColumn):
        return ColumnLayout("bytes", TEXT if column.text else BYTES, column.shape)
    assert isinstance(column, RaggedColumn)
    said_of_dtype(column.values.dtype)
    return ColumnLayout("ragged", column.values.dtype, (None,) * column.shapes.shape[1])


class Blocks:
    """Makes blocks of about one size of those that come, and hands them to `put`."""

    def __init__(self, put: Callable[[Block], None], empty: Empty, block_bytes: int) -> None:
        self._put = put
        self._empty = empty
        self._most = min(BLOCK_BYTES, block_bytes)
        self._parts: list[Block] = []
        self._kinds: list[tuple[Any, ...]] | None = None
        self._bytes = 0

    def add(self, block: Block) -> None:
        """Take more rows."""
        block = without_objects(block)
        self._check(block)
        at, one = 0, max(1, -(-block.nbytes // block.rows))
        while at < block.rows:
            stop = min(block.rows, at + max(1, (self._most - self._bytes) // one))
            part = block.slice(at, stop)
            self._parts.append(part)
            self._bytes += part.nbytes
            at = stop
            if self._bytes >= self._most - one:
                self.flush()
        if len(self._parts) >= CRUMBS:
            self._parts = [concat(self._parts, self._empty)]

    def _check(self, block: Block) -> None:
        """Whether rows are like those before. Within a block they are: no stream may depend on its blocks."""
        kinds = [_kind(column) for column in block.columns]
        if self._kinds is None:
            self._kinds = kinds
        for path, mine, its in zip(block.structure.paths(), self._kinds, kinds, strict=True):
            if mine != its:
                raise NotSaved(no_objects(f"element{path}", f"values of several types, {mine} and {its}"))

    def flush(self) -> None:
        """Hand over what there is."""
        parts, self._parts, self._bytes = self._parts, [], 0
        if parts:
            self._put(concat(parts, self._empty))

    def clear(self) -> None:
        """Forget what there is."""
        self._parts, self._bytes = [], 0


def without_objects(block: Block) -> Block:
    """The block with columns that can be saved; `NotSaved` where objects are more than a way to hold rows."""
    if not any(isinstance(column, ObjectColumn) for column in block.columns):
        return block
    columns = []
    for path, column in zip(block.structure.paths(), block.columns, strict=True):
        if isinstance(column, ObjectColumn):
            items = list(column.items())
            column = column_of(items)
            if isinstance(column, ObjectColumn):
                kinds = sorted({type(item).__name__ for item in items})
                what = f"values of the type {' and '.join(kinds)}, one by one"
                raise NotSaved(no_objects(f"element{path}", what))
        columns.append(column)
    return block.with_columns(columns)


def _kind(column: Column) -> tuple[Any, ...]:
    """What columns have in common that can be joined to one without objects: dtype, and rank or shape."""
    if isinstance(column, DenseColumn):
        return str(column.array.dtype), column.array.ndim - 1
    if isinstance(column, RaggedColumn):
        return str(column.values.dtype), column.shapes.shape[1]
    assert isinstance(column, BytesColumn)
    return "str" if column.text else "bytes", column.shape
