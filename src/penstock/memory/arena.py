"""A shelf of records: rows of strings and of arrays of many shapes, in one arena."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import concat
from penstock.blocks.placed import worth_placing
from penstock.blocks.records import Encoded, decode, decode_both, parts_of
from penstock.kernels.spans import Empty, gather_spans, offsets_of
from penstock.memory.account import Account
from penstock.memory.pages import GrowingArray, own_pages
from penstock.memory.shelves import SPILLED, STEP, Shelf
from penstock.memory.slabs import Slabs
from penstock.memory.spill import Scratch

Index = NDArray[np.int64]
MOVED = 1 << 20
"""Bytes moved at a time when the arena is made compact."""


class RecordShelf(Shelf):
    """Records in one arena, each over the last one of its slot where it has room there, else at the end.

    What is dead is squeezed out when the arena is full; what the budget refuses is in the file.
    """

    def __init__(
        self,
        block: Block,
        account: Account,
        scratch: Callable[[], Scratch],
        note: Callable[[str], None],
    ) -> None:
        parts = parts_of(block)
        assert parts is not None
        self._structure = block.structure
        self.parts = self._parts = parts
        self._account = account
        self._note = note
        self._slabs = Slabs(scratch)
        self._arena = GrowingArray((), np.dtype(np.uint8))
        self._end = 0
        self._live = 0
        self._starts = np.zeros(0, np.int64)
        self._lengths = np.zeros(0, np.int64)
        self._rooms = np.zeros(0, np.int64)  # the bytes from there on that are the slot's own
        self._away = np.zeros(0, np.int64)  # where a record is in the file, or -1

    def accepts(self, block: Block) -> bool:
        return parts_of(block) == self._parts

    def put(self, slots: Index, block: Block, rows: Index | None) -> None:
        rows = np.arange(block.rows) if rows is None else rows
        encoded = Encoded(block)
        self._have_slots(int(slots.max()) + 1)
        self._forget(slots)
        near = encoded.lengths[rows] <= self._rooms[slots]
        self._write(slots[near], encoded, rows[near])
        further = ~near
        if further.any():
            self._put_further(slots[further], encoded, rows[further])

    def _put_further(self, slots: Index, encoded: Encoded, rows: Index) -> None:
        """Put these rows at the end of the arena, or into the file."""
        lengths = encoded.lengths[rows]
        places = offsets_of(lengths)
        if self._make_room(int(places[-1])):
            self._starts[slots], self._rooms[slots] = self._end + places[:-1], lengths
            self._end += int(places[-1])
            self._write(slots, encoded, rows)
            return
        self._note(SPILLED)
        self._lengths[slots] = lengths
        for slot, row in zip(slots.tolist(), rows.tolist(), strict=True):
            record = np.empty(int(encoded.lengths[row]), np.uint8)
            encoded.write(record, np.zeros(1, np.int64), np.array([row]))
            self._away[slot] = self._slabs.write(record)

    def _write(self, slots: Index, encoded: Encoded, rows: Index) -> None:
        """Put these rows where their slots have room for them."""
        self._lengths[slots] = lengths = encoded.lengths[rows]
        self._live += int(lengths.sum())
        encoded.write(self._arena.rows, self._starts[slots], rows)

    def _have_slots(self, count: int) -> None:
        have = len(self._starts)
        if count > have:
            count = max(count, have * 9 // 8)
            more = np.zeros(count - have, np.int64)
            self._starts = np.concatenate([self._starts, more])
            self._lengths = np.concatenate([self._lengths, more])
            self._rooms = np.concatenate([self._rooms, more])
            self._away = np.concatenate([self._away, more - 1])

    def _forget(self, slots: Index) -> None:
        away = self._away[slots]
        self._live -= int(self._lengths[slots][away < 0].sum())
        for slot in slots[away >= 0].tolist():
            self._slabs.free(int(self._away[slot]), int(self._lengths[slot]))
        self._away[slots] = -1
        self._lengths[slots] = 0

    def _make_room(self, size: int) -> bool:
        """Have `size` bytes free at the end of the arena."""
        have = len(self._arena.rows)
        if self._end + size <= have:
            return True
        if self._live + size <= have and self._end - self._live > self._live // 2:
            self._compact()
            return True
        step = min(STEP, self._account.ledger.budget // 32)
        for grown in (max(self._end + size, have + step, have * 9 // 8), self._end + size):
            if self._account.request(grown - have):
                self._arena.resize(grown)
                return True
        if self._end > self._live:
            self._compact()
        return self._end + size <= have

    def _compact(self) -> None:
        """Move the live records together, in the order in which they lie."""
        slots = self._in_memory()
        slots = slots[np.argsort(self._starts[slots])]
        starts, lengths = self._starts[slots], self._lengths[slots]
        places = offsets_of(lengths)
        first = 0
        while first < len(slots):
            last = max(int(np.searchsorted(places, places[first] + MOVED)), first + 1)
            last = min(last, len(slots))
            moved, _ = gather_spans(self._arena.rows, starts[first:last], lengths[first:last])
            self._arena.rows[places[first] : places[last]] = moved
            first = last
        self._starts[slots] = places[:-1]
        self._rooms[:] = 0
        self._rooms[slots] = lengths
        self._end = self._live = int(places[-1])

    def _in_memory(self) -> Index:
        return np.flatnonzero((self._away < 0) & (self._lengths > 0))

    def gather(self, sources: Index, block: Block | None, empty: Empty) -> Block:
        stored = sources >= 0
        here = stored.copy()
        here[stored] = self._away[sources[stored]] < 0
        starts = self._starts[np.where(here, sources, 0)]
        if (here | ~stored).all() and (made := self._at_once(sources, ~stored, block, starts, empty)):
            return made
        groups = [np.flatnonzero(here), np.flatnonzero(stored & ~here), np.flatnonzero(~stored)]
        parts = []
        if len(groups[0]):
            raw = self._arena.rows
            parts.append(decode(self._structure, self._parts, raw, starts[groups[0]], empty))
        if len(groups[1]):
            parts.append(self._read(sources[groups[1]], empty))
        if len(groups[2]):
            assert block is not None
            parts.append(block.take(-1 - sources[groups[2]], empty))
        if len(parts) == 1:
            return parts[0]
        back = np.empty(len(sources), np.int64)
        back[np.concatenate(groups)] = np.arange(len(sources))
        return concat(parts).take(back, empty)

    def _at_once(
        self, sources: Index, coming: NDArray[np.bool_], block: Block | None, starts: Index, empty: Empty
    ) -> Block | None:
        """Rows that are in the arena, and those that come and go; None where that takes steps."""
        raw = self._arena.rows
        if block is None or not coming.any():
            return decode(self._structure, self._parts, raw, starts, empty)
        places, rows = np.flatnonzero(coming), -1 - sources[coming]
        encoded = Encoded(block)
        if worth_placing(int(encoded.lengths.sum()), block.rows):
            both = places, encoded, rows
            return decode_both(self._structure, self._parts, raw, starts, both, empty)
        # Behind the others, to read all of them there.
        ends = self._end + offsets_of(encoded.lengths[rows])
        if ends[-1] > len(raw):
            return None
        encoded.write(raw, ends[:-1], rows)
        starts[places] = ends[:-1]
        return decode(self._structure, self._parts, raw, starts, empty)

    def _read(self, slots: Index, empty: Empty) -> Block:
        places = offsets_of(self._lengths[slots])
        raw = own_pages(int(places[-1]), np.uint8)
        for i, slot in enumerate(slots.tolist()):
            self._slabs.read(int(self._away[slot]), raw[places[i] : places[i + 1]])
        return decode(self._structure, self._parts, raw, places[:-1], empty)

    def row_sizes(self, slots: Index) -> Index:
        return self._lengths[slots]

    def spill(self, size: int) -> None:
        have = len(self._arena.rows)
        if have == 0:
            return
        self._note(SPILLED)
        self._compact()
        slots = self._in_memory()
        slots = slots[np.argsort(self._starts[slots])]
        keep = max(have - size, 0)
        away = slots[self._starts[slots] + self._lengths[slots] > keep]
        for slot in away.tolist():
            start, length = int(self._starts[slot]), int(self._lengths[slot])
            self._away[slot] = self._slabs.write(self._arena.rows[start : start + length])
        self._live -= int(self._lengths[away].sum())
        self._rooms[away] = 0
        self._end = self._live
        self._shrink(min(have, keep))

    def move(self, source: int, slot: int) -> None:
        self._forget(np.array([slot]))
        for each in (self._starts, self._lengths, self._rooms, self._away):
            each[slot] = each[source]
        self._lengths[source] = self._rooms[source] = 0
        self._away[source] = -1

    def _shrink(self, size: int) -> None:
        self._account.release(len(self._arena.rows) - size)
        self._arena.resize(size)

    def drop_from(self, slot: int) -> None:
        gone = np.arange(slot, len(self._starts))
        self._forget(gone)
        self._starts = self._starts[:slot].copy()
        self._lengths = self._lengths[:slot].copy()
        self._rooms = self._rooms[:slot].copy()
        self._away = self._away[:slot].copy()
        if 16 * self._live <= 15 * len(self._arena.rows):  # not for every few: it moves all the others
            self._compact()
            self._shrink(self._end)

    def close(self) -> None:
        self._account.release(len(self._arena.rows))
        self._arena.close()
        self._slabs.close()
