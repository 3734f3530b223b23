"""One of Penstock's own files, open for reading: its blocks as views, or parts of them as copies."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.pack import unpack, unpack_views
from penstock.blocks.structure import Structure
from penstock.errors import StoreError
from penstock.io.formats.saved import (
    BLOCK,
    HEAD,
    HEAD_MAGIC,
    TAIL,
    TAIL_MAGIC,
    VERSION,
    SavedError,
    ShardIndex,
    index_of,
    padded,
)
from penstock.io.stores.local import LocalFile
from penstock.kernels.spans import Empty
from penstock.memory.locked import read_only
from penstock.memory.mapped import Bytes, map_file

PIECE = 256 << 10
"""So many bytes are summed at a time."""


class Checked:
    """Which blocks have been looked at by this process: each is summed once, however often it is read."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[str, str], bytearray] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Checked, ()  # another process looks for itself

    def of(self, path: str, stamp: str, blocks: int) -> bytearray:
        """One byte for each block of a file: 1 if it has been looked at."""
        return self._blocks.setdefault((path, stamp), bytearray(blocks))


class _File(LocalFile):
    def map(self, start: int, stop: int) -> Bytes:
        return map_file(self._file, start, stop)

    def now(self) -> int:
        """How many bytes there are now."""
        return os.fstat(self._file).st_size


class SavedFile:
    """The blocks of a file. `SavedError` where it is damaged, `StoreError` where it cannot be read."""

    def __init__(self, path: Path, structure: Structure, checked: Checked, *, verify: bool) -> None:
        self.path = str(path)
        self._structure = structure
        self._verify = verify
        self._mapped: Bytes | None = None
        self._open: _File | None = _File(self.path)
        self._stamp = self._open.stamp
        try:
            self.index = self._read_index()
            self.index.check(self._open.size, structure.leaves)
        except SavedError as error:
            self.close()
            raise self._of_this(error) from None
        except BaseException:
            self.close()
            raise
        self.firsts = self.index.firsts()
        self._checked = checked.of(self.path, self._stamp, len(self.index.table))

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.firsts[-1])

    @property
    def _stored(self) -> _File:
        """The file, opened again after a `rest`."""
        if self._open is None:
            self._open = _File(self.path)
            if self._open.stamp != self._stamp:
                self.rest()
                raise self._of_this(SavedError("the file was changed while it was read", 0))
        return self._open

    def _read_index(self) -> ShardIndex:
        size = self._stored.size
        head = self._stored.read(0, HEAD.size)
        if len(head) < HEAD.size or HEAD.unpack(head)[0] != HEAD_MAGIC:
            raise SavedError(f"expected a file of saved blocks, got one that begins with {head[:16]!r}", 0)
        if HEAD.unpack(head)[1] != VERSION:
            raise SavedError(f"expected version {VERSION} of saved blocks, got {HEAD.unpack(head)[1]}", 0)
        end = size - TAIL.size
        tail = self._stored.read(end, TAIL.size) if end >= HEAD.size else b""
        if len(tail) < TAIL.size or tail[: len(TAIL_MAGIC)] != TAIL_MAGIC:
            raise SavedError(
                f"expected the end of saved blocks, but the file is cut off after {size} bytes", size
            )
        _, start, length, blocks, rows, crc, own = TAIL.unpack(tail)
        if zlib.crc32(tail[:-4]) != own or start + padded(length) != end or length > end:
            raise SavedError("expected the end of saved blocks, got a damaged one", end)
        footer = self._stored.read(start, length)
        if zlib.crc32(footer) != crc:
            raise SavedError("the footer does not match its checksum", start)
        index = index_of(footer, blocks, start)
        if int(index.rows.sum()) != rows:
            raise SavedError(f"expected {rows} rows, got a footer with another number", start)
        return index

    def view(self, number: int) -> Block:
        """A block as read-only views of the file, mapped for as long as one of them is there."""
        self.check(number)
        start = self._payload(number)
        packed = self.index.packed(number, self._structure)
        self._check_size()
        try:
            raw = self._stored.map(start, start + packed.nbytes)
        except OSError:  # the process has as many mappings as it may have
            return self.part(number, 0, packed.rows, np.empty)
        return read_only(unpack_views(packed, raw))

    def part(self, number: int, start: int, stop: int, empty: Empty) -> Block:
        """Some rows of a block, copied."""
        self.check(number)
        payload = self._payload(number)
        packed = self.index.packed(number, self._structure)

        def read(offset: int, out: NDArray[Any]) -> None:
            if out.nbytes:
                self.read_into(payload + offset, out.reshape(-1).view(np.uint8))

        return read_only(unpack(packed, read, start, stop, empty))

    def read_into(self, start: int, out: Bytes) -> None:
        """Fill `out` with the bytes from `start` on."""
        if self._stored.read_into(start, out.data) < len(out):
            raise self._of_this(SavedError("the file has become shorter", start))

    def mapped(self) -> Bytes:
        """All of the file, mapped until it is closed."""
        if self._mapped is None or self._open is not None:
            self._check_size()
        if self._mapped is None:
            try:
                self._mapped = self._stored.map(0, self._stored.size)
            except OSError as error:
                raise StoreError.of(error, self.path) from error
        return self._mapped

    def _check_size(self) -> None:
        """Touching mapped bytes that are no longer there would end the process, without a word."""
        size = self._stored.now()
        if size < self._stored.size:
            raise self._of_this(SavedError("the file has become shorter while it was read", size))

    def check(self, number: int) -> None:
        """Look at a block for the first time: whether it is what the footer says, and matches its sum."""
        if not self._checked[number]:
            try:
                self._check(number)
            except SavedError as error:
                raise self._of_this(error) from None
            self._checked[number] = 1

    def _of_this(self, error: SavedError) -> SavedError:
        error.path = self.path
        return error

    def _check(self, number: int) -> None:
        start = int(self.index.starts[number])
        header = self._stored.read(start, BLOCK.size)
        if header != self.index.header(number):
            raise SavedError(f"expected the header of block {number}, got a damaged one", start)
        if self._verify and self._sum(number) != int(self.index.table[number, 3]):
            first, rows = int(self.firsts[number]), int(self.index.rows[number])
            raise SavedError(
                f"block {number}, with the rows {first} to {first + rows - 1} of this file, does not match "
                f"its checksum",
                start,
            )
        self._check_offsets(number)

    def _sum(self, number: int) -> int:
        at, left, crc = self._payload(number), int(self.index.sizes[number]), 0
        buffer = np.empty(min(PIECE, left), np.uint8)
        while left:
            part = buffer[:left]
            self.read_into(at, part)
            crc = zlib.crc32(part.data, crc)
            at += len(part)
            left -= len(part)
        return crc

    def _check_offsets(self, number: int) -> None:
        """Whether the rows of columns without a fixed size lie within their values."""
        start = self._payload(number)
        for column in self.index.packed(number, self._structure).columns:
            if column.kind == "dense":
                continue
            values, offsets = column.buffers[:2]
            ends = self._numbers(start + offsets.offset, offsets.shape)
            sizes = np.diff(ends)
            good = ends[0] == 0 and ends[-1] <= values.shape[0] and (sizes >= 0).all()
            if good and column.kind == "ragged":
                shapes = self._numbers(start + column.buffers[2].offset, column.buffers[2].shape)
                good = (shapes >= 0).all() and (shapes.astype(np.float64).prod(axis=1) == sizes).all()
            if not good:
                raise SavedError(f"expected the rows of block {number} within it", start + offsets.offset)

    def _numbers(self, start: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        out = np.empty(shape, np.int64)
        if out.nbytes:
            self.read_into(start, out.reshape(-1).view(np.uint8))
        return out

    def _payload(self, number: int) -> int:
        return int(self.index.starts[number]) + BLOCK.size

    def rest(self) -> None:
        """Close the file until it is needed again; what is known of it stays."""
        stored, self._open = self._open, None
        if stored is not None:
            stored.close()

    def close(self) -> None:
        """Let go of the file; views of it stay. May be called more than once."""
        self._mapped = None
        self.rest()
