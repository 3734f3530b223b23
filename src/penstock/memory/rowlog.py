"""Rows kept in the order in which they came: in memory as far as the budget goes, then on disk."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.build import concat
from penstock.blocks.pack import Packed, pack, unpack
from penstock.blocks.structure import LEAF
from penstock.kernels.spans import Empty
from penstock.memory.account import Account
from penstock.memory.locked import read_only
from penstock.memory.pages import own_pages
from penstock.memory.spill import Scratch

CHUNK = 128 << 10
"""Blocks smaller than this are joined until they have as much; in a small budget, one part in 64 of it."""
SPILLED = "keeps rows in a scratch file, to stay in the budget"


def _nobody(_: str) -> None:
    """Nobody is there to be told."""


class Chunk:
    """Some consecutive rows: a block in memory, or its description and its place in the file."""

    __slots__ = ("block", "first", "offset", "packed", "rows", "size")

    def __init__(self, first: int, block: Block) -> None:
        self.first = first
        self.rows = block.rows
        self.size = block.nbytes
        self.block: Block | None = block
        self.packed: Packed | None = None
        self.offset = 0


class RowLog:
    """An append-only log of rows, numbered from 0, of which the oldest can be dropped.

    What `account.request` refuses goes to `scratch()`. Another thread may ask it for memory at any
    moment (`Ledger.keepers`); apart from that it belongs to one thread.
    """

    def __init__(
        self,
        account: Account,
        scratch: Callable[[], Scratch],
        empty: Empty = np.empty,
        note: Callable[[str], None] = _nobody,
    ) -> None:
        self._account = account
        self._scratch = scratch
        self._empty = empty
        self._note = note
        self._attached = True
        self._seen_bytes = 0
        self._chunks: list[Chunk] = []
        self._lock = threading.Lock()
        self._tail: list[Block] = []
        self._tail_bytes = 0
        self._chunked = 0  # rows in chunks; those after it are in the tail
        self.first = 0
        """The number of the first row that has not been dropped."""
        self.rows = 0
        """How many rows have been appended, those dropped since included."""
        account.ledger.keepers.append(self._give_back)

    @property
    def row_bytes(self) -> int:
        """About the bytes of one row."""
        return self._seen_bytes // max(self.rows, 1)

    @property
    def _chunk_bytes(self) -> int:
        return min(CHUNK, self._account.ledger.budget // 64)

    def append(self, block: Block) -> None:
        """Keep a copy of the rows of `block`."""
        if block.rows == 0:
            return
        with self._lock:
            self.rows += block.rows
            size = block.nbytes
            self._seen_bytes += size
            chunk = self._chunk_bytes
            # A chunk may have to come back from the file: its room is not for rows that stay.
            self._account.expect(max(size, chunk))
            over = self._account.over()
            if over:
                self._spill(over)
            if size >= chunk:
                self._close_tail()
            if not self._granted(size):
                self._close_tail()
                self._add_chunk(block, in_memory=False)
                return
            copied = compact(block)
            self._account.keep(copied)
            self._tail.append(copied)
            self._tail_bytes += size
            if self._tail_bytes >= chunk:
                self._close_tail()

    def _granted(self, size: int) -> bool:
        if self._account.request(size):
            return True
        if size >= self._chunk_bytes:
            return False
        # Small blocks are gathered in memory even now, in the place of a chunk that goes to disk:
        # one by one they would make a file of crumbs.
        self._spill(size)
        return self._account.request(size)

    def read(self, start: int, rows: int, leaf: int | None = None) -> Block:
        """From 1 up to `rows` rows from number `start` on, read-only; one leaf of them, or all."""
        with self._lock:
            if not max(self.first, 0) <= start < self.rows or rows < 1:
                raise IndexError(f"rows {start} to {start + rows} of {self.first} to {self.rows}")
            if start >= self._chunked:
                at = start - self._chunked
                for part in self._tail:
                    if at < part.rows:
                        return read_only(_only(part.slice(at, min(at + rows, part.rows)), leaf))
                    at -= part.rows
            number = bisect.bisect(self._chunks, start, key=lambda chunk: chunk.first) - 1
            chunk = self._chunks[number]
            at = start - chunk.first
            block = self._rows_of(chunk, at, min(at + rows, chunk.rows), leaf)
            return read_only(block, shared=chunk.block is not None)

    def _rows_of(self, chunk: Chunk, start: int, stop: int, leaf: int | None) -> Block:
        if chunk.block is not None:
            return _only(chunk.block.slice(start, stop), leaf)
        assert chunk.packed is not None
        scratch, base = self._scratch(), chunk.offset
        return unpack(
            chunk.packed if leaf is None else chunk.packed.leaf(leaf),
            lambda offset, out: scratch.read(base + offset, out),
            start,
            stop,
            self._empty,
        )

    def drop_before(self, row: int) -> None:
        """Forget the rows before number `row`; their memory is given back a chunk at a time."""
        with self._lock:
            self.first = max(self.first, min(row, self.rows))
            count = 0
            while count < len(self._chunks):
                chunk = self._chunks[count]
                if chunk.first + chunk.rows > self.first:
                    break
                self._drop(chunk)
                count += 1
            del self._chunks[:count]
            while self._tail and self._chunked + self._tail[0].rows <= self.first:
                self._chunked += self._tail[0].rows
                self._release(self._tail.pop(0))
            if not self._tail:
                self._tail_bytes = 0

    def seal(self) -> None:
        """No more rows will come: join what waits for more."""
        with self._lock:
            self._close_tail()

    def clear(self) -> None:
        """Forget all rows; numbers go on."""
        self.drop_before(self.rows)

    def close(self) -> None:
        """Forget all rows, and be asked for memory no more."""
        self.clear()
        self.detach(0)

    def detach(self, keep: int) -> None:
        """Outlive the run: have at most `keep` bytes in memory, and none on its ledger."""
        with self._lock:
            if not self._attached:
                return
            self._attached = False
            self._account.ledger.keepers.remove(self._give_back)
            self._close_tail()
            blocks = [chunk.block for chunk in self._chunks if chunk.block is not None]
            over = sum(block.nbytes for block in blocks) - keep
            del blocks
            if over > 0:
                self._spill(over)
            for chunk in self._chunks:
                if chunk.block is not None:
                    self._account.release(chunk.block.nbytes)
                    self._account.disown(chunk.block)
            # These hold on to the run.
            self._empty, self._note = np.empty, _nobody

    def attach(self, account: Account, empty: Empty, note: Callable[[str], None]) -> None:
        """Go on in another run: what its budget refuses goes to the file."""
        with self._lock:
            self._account, self._empty, self._note = account, empty, note
            self._attached = True
            account.ledger.keepers.append(self._give_back)
            for chunk in self._chunks:
                block = chunk.block
                if block is None:
                    continue
                if account.request(block.nbytes):
                    account.keep(block)
                else:
                    self._write(chunk, block)

    def _add_chunk(self, block: Block, *, in_memory: bool) -> None:
        chunk = Chunk(self._chunked, block)
        if not in_memory:
            self._write(chunk, block)
        self._chunks.append(chunk)
        self._chunked += block.rows

    def _close_tail(self) -> None:
        """Make one chunk of the small blocks at the end."""
        parts, self._tail, self._tail_bytes = self._tail, [], 0
        if not parts:
            return
        joined = parts[0] if len(parts) == 1 else compact(concat(parts))
        if joined is not parts[0]:
            for part in parts:
                self._release(part)
            # The parts' bytes were granted, so the joined block takes no more than was there.
            if not self._account.request(joined.nbytes):
                self._add_chunk(joined, in_memory=False)
                return
            self._account.keep(joined)
        self._add_chunk(joined, in_memory=True)

    def _write(self, chunk: Chunk, block: Block) -> None:
        self._note(SPILLED)
        packed, buffers = pack(block)
        scratch = self._scratch()
        chunk.offset = scratch.allocate(packed.nbytes)
        for offset, buffer in buffers:
            scratch.write(chunk.offset + offset, buffer)
        chunk.packed, chunk.block = packed, None

    def _give_back(self, size: int) -> None:
        """Another op needs memory: give `size` bytes of it back, unless this log is busy."""
        if self._lock.acquire(blocking=False):
            try:
                if self._attached:  # it may have been asked just before it left that run
                    self._spill(size)
            finally:
                self._lock.release()

    def _spill(self, size: int) -> None:
        """Put the latest chunks in memory on disk: the oldest are read first."""
        freed = 0
        for chunk in reversed(self._chunks):
            if freed >= size:
                return
            block = chunk.block
            if block is not None:
                self._write(chunk, block)
                self._release(block)
                freed += chunk.size
        if freed < size and self._tail:
            self._close_tail()
            last = self._chunks[-1]
            if last.block is not None:
                block = last.block
                self._write(last, block)
                self._release(block)

    def _drop(self, chunk: Chunk) -> None:
        if chunk.block is not None:
            self._release(chunk.block)
        elif chunk.packed is not None:
            self._scratch().free(chunk.offset, chunk.packed.nbytes)

    def _release(self, block: Block) -> None:
        self._account.release(block.nbytes)
        self._account.unkeep(block)


def compact(block: Block) -> Block:
    """A copy of a block whose buffers hold its rows and nothing else."""
    copied = block.take(np.arange(block.rows), own_pages)
    copied.numbers = copied.origin = None
    return copied


def _only(block: Block, leaf: int | None) -> Block:
    return block if leaf is None else Block(LEAF, [block.columns[leaf]], block.rows)
