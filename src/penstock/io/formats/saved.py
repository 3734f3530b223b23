"""Penstock's own files: blocks of columns as they are in memory, to be mapped and used without parsing.

All numbers are little-endian, all sums are CRC-32, and every part begins at a multiple of 64 bytes:
```
head      64 bytes   "PENSTOCK BLOCKS\\n", the version
block     64 bytes   "BLOCK\\n..", its number, rows, payload's bytes and sum, layout, this header's sum
          payload    the buffers of its columns, one after another
...
footer    the layouts, in JSON, and a table: a row of whole numbers for each block
tail      64 bytes   "PENSTOCK TAIL\\n..", where the footer is, how many blocks and rows, sums
```
A layout says for each column its kind (dense, bytes or ragged), dtype and shape. A row of the table has
the block's place, its rows, its payload's bytes and sum, its layout, and where each of its buffers begins.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.pack import Buffer, Packed, PackedColumn
from penstock.blocks.structure import Structure
from penstock.io.formats.saved_structure import dtype_of, said_of_dtype
from penstock.kernels.spans import offsets_of

VERSION = 1
ALIGNED = 64
HEAD = struct.Struct("<16sI44x")
HEAD_MAGIC = b"PENSTOCK BLOCKS\n"
BLOCK = struct.Struct("<8sQQQII20xI")
BLOCK_MAGIC = b"BLOCK\n\0\0"
TAIL = struct.Struct("<16sQQQQI8xI")
TAIL_MAGIC = b"PENSTOCK TAIL\n\0\0"
TABLE = np.dtype("<i8")
FIXED = 5
"""The numbers of a block in the table, before those of its buffers."""
WIDEST = 1 << 16
"""More buffers than any block has."""

MOST_ROWS = 1 << 40
"""More rows than any block has, and more bytes than any row."""
MOST_AXES = 60

Numbers = NDArray[np.int64]
BUFFERS = {"dense": 1, "bytes": 2, "ragged": 3}


class SavedError(ValueError):
    """A file that is not what it should be: what is wrong, at which byte, and of which file."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(what)
        self.offset = offset
        self.path = ""


def padded(size: int) -> int:
    """The next multiple of 64."""
    return -(-size // ALIGNED) * ALIGNED


@dataclass(frozen=True)
class ColumnLayout:
    """How one column lies in a block; a ragged one has a `shape` of Nones."""

    kind: str
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]

    @property
    def text(self) -> bool:
        """Whether the strings of a column of bytes are text."""
        return self.kind == "bytes" and self.dtype.kind == "U"

    @property
    def rank(self) -> int:
        """How many axes a row has."""
        return len(self.shape)

    @property
    def width(self) -> int:
        """The items of one row: numbers of a dense column, strings of one of bytes."""
        return math.prod(size or 0 for size in self.shape)

    def least(self, rows: int) -> list[int]:
        """The bytes that the buffers of so many rows have, or have at least."""
        if self.kind == "dense":
            return [rows * self.width * self.dtype.itemsize]
        if self.kind == "bytes":
            return [0, 8 * (rows * self.width + 1)]
        return [0, 8 * (rows + 1), 8 * rows * self.rank]

    def packed(self, rows: int, places: Sequence[int]) -> PackedColumn:
        """A column of so many rows, whose buffers begin there; values end where offsets begin."""
        numbers = np.dtype(np.int64)
        shape: Any = self.shape
        if self.kind == "dense":
            return PackedColumn("dense", (Buffer(places[0], self.dtype, (rows, *shape)),))
        item = np.dtype(np.uint8) if self.kind == "bytes" else self.dtype
        values = Buffer(places[0], item, ((places[1] - places[0]) // max(item.itemsize, 1),))
        if self.kind == "bytes":
            offsets = Buffer(places[1], numbers, (rows * self.width + 1,))
            return PackedColumn("bytes", (values, offsets), self.text, shape)
        offsets = Buffer(places[1], numbers, (rows + 1,))
        return PackedColumn("ragged", (values, offsets, Buffer(places[2], numbers, (rows, self.rank))))

    def said(self) -> list[Any]:
        """As plain data."""
        return [self.kind, said_of_dtype(self.dtype), list(self.shape)]

    @classmethod
    def of_said(cls, said: Any) -> ColumnLayout:
        """What was said so; ValueError, TypeError if it is none."""
        kind, dtype, shape = said
        sizes = tuple(None if size is None else int(size) for size in shape)
        layout = cls(str(kind), dtype_of(dtype), sizes)
        if (
            len(sizes) > MOST_AXES
            or math.prod(size or 1 for size in sizes) * layout.dtype.itemsize >= MOST_ROWS
        ):
            raise ValueError(f"{said!r} is larger than any row")
        ragged = kind == "ragged"
        if kind not in BUFFERS or any((size is None) != ragged or (size or 0) < 0 for size in sizes):
            raise ValueError(f"{said!r} is no column")
        if (kind == "bytes") != (dtype in ("bytes", "str")) or (ragged and layout.dtype.itemsize == 0):
            raise ValueError(f"{said!r} is no column")
        return layout


Layout = tuple[ColumnLayout, ...]


@dataclass(frozen=True)
class ShardIndex:
    """What the footer of a file says of its blocks."""

    layouts: tuple[Layout, ...]
    table: Numbers

    @property
    def starts(self) -> Numbers:
        """Where the blocks begin, with their headers."""
        return self.table[:, 0]

    @property
    def rows(self) -> Numbers:
        """How many rows each block has."""
        return self.table[:, 1]

    @property
    def sizes(self) -> Numbers:
        """The bytes of each block's payload."""
        return self.table[:, 2]

    def firsts(self) -> Numbers:
        """The number of each block's first row, and of the row after the last."""
        return offsets_of(self.rows)

    def layout(self, number: int) -> Layout:
        """The layout of a block."""
        return self.layouts[int(self.table[number, 4])]

    def places(self, number: int) -> list[int]:
        """Where the buffers of a block begin, in its payload; and where the last one ends."""
        count = sum(BUFFERS[column.kind] for column in self.layout(number))
        found: list[int] = self.table[number, FIXED : FIXED + count].tolist()
        return [*found, int(self.table[number, 2])]

    def packed(self, number: int, structure: Structure) -> Packed:
        """What the payload of a block means."""
        layout, places = self.layout(number), self.places(number)
        rows, size = (int(one) for one in self.table[number, 1:3])
        columns, at = [], 0
        for column in layout:
            count = BUFFERS[column.kind]
            columns.append(column.packed(rows, places[at : at + count]))
            at += count
        return Packed(structure, rows, tuple(columns), size)

    def header(self, number: int) -> bytes:
        """How a block begins."""
        _, rows, size, crc, layout = self.table[number, :FIXED].tolist()
        return block_header(number, rows, size, crc, layout)

    def check(self, end: int, leaves: int) -> None:
        """`SavedError` where blocks would lie outside the file, or columns outside their blocks."""
        table = self.table
        bad = (table < 0).any(axis=1) | (self.starts % ALIGNED != 0) | (self.rows < 1)
        # Compared like this, no sum can be too large for 64 bits.
        bad |= (self.starts > end) | (self.sizes > end - self.starts - BLOCK.size)
        bad |= (table[:, 4] >= len(self.layouts)) | (table[:, 3] >= 1 << 32) | (self.rows > MOST_ROWS)
        if bad.any():
            raise SavedError(f"expected a block {int(np.flatnonzero(bad)[0])} within the file", end)
        if any(len(layout) != leaves for layout in self.layouts):
            raise SavedError(f"expected {leaves} columns in every block", end)
        for number in range(len(table)):
            self._check_places(number, end)

    def _check_places(self, number: int, end: int) -> None:
        places, rows = self.places(number), int(self.rows[number])
        least = [size for column in self.layout(number) for size in column.least(rows)]
        for first, last, size in zip(places[:-1], places[1:], least, strict=True):
            if first % ALIGNED or last - first < size:
                raise SavedError(f"expected the columns of block {number} within it", end)


def block_header(number: int, rows: int, size: int, crc: int, layout: int) -> bytes:
    """The first bytes of a block."""
    made = BLOCK.pack(BLOCK_MAGIC, number, rows, size, crc, layout, 0)
    return made[:-4] + struct.pack("<I", zlib.crc32(made[:-4]))


def file_head() -> bytes:
    """The first bytes of a file."""
    return HEAD.pack(HEAD_MAGIC, VERSION)


def footer_of(index: ShardIndex) -> bytes:
    """The footer of a file."""
    said = json.dumps([[column.said() for column in layout] for layout in index.layouts]).encode()
    said = said.ljust(padded(len(said)))
    shape = struct.pack("<QQ", len(said), index.table.shape[1])
    return shape.ljust(ALIGNED, b"\0") + said + index.table.astype(TABLE).tobytes()


def tail_of(footer: bytes, start: int, index: ShardIndex) -> bytes:
    """The last bytes of a file."""
    rows = int(index.rows.sum())
    made = TAIL.pack(TAIL_MAGIC, start, len(footer), len(index.table), rows, zlib.crc32(footer), 0)
    return made[:-4] + struct.pack("<I", zlib.crc32(made[:-4]))


def index_of(footer: bytes, blocks: int, offset: int) -> ShardIndex:
    """The index that a footer is; `SavedError` if it is none."""
    try:
        size, width = struct.unpack_from("<QQ", footer)
        at = ALIGNED + size
        if not FIXED <= width <= WIDEST or len(footer) - at != blocks * width * 8:
            raise ValueError("its table has another size")
        said = json.loads(footer[ALIGNED:at])
        layouts = tuple(tuple(ColumnLayout.of_said(column) for column in layout) for layout in said)
        if any(sum(BUFFERS[column.kind] for column in layout) > width - FIXED for layout in layouts):
            raise ValueError("its table is too narrow")
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        OverflowError,
        RecursionError,
        struct.error,
    ) as error:
        raise SavedError(
            f"expected the footer of saved blocks, got a damaged one ({error})", offset
        ) from error
    table = np.frombuffer(footer, TABLE, offset=at).reshape(blocks, width)
    return ShardIndex(layouts, table.astype(np.int64, copy=False))
