"""Rows kept in numbered slots: the buffer of a shuffle.

How the rows are held follows what they are: arrays of one shape in arrays, strings and arrays of
many shapes as records in one arena, anything else in a list. What the budget refuses is in a file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import concat
from penstock.blocks.columns import DenseColumn
from penstock.blocks.records import parts_of
from penstock.kernels.halves import Both, one_by_one
from penstock.kernels.spans import Empty
from penstock.memory.account import Account
from penstock.memory.arena import RecordShelf
from penstock.memory.shelves import DenseShelf, ObjectShelf, Shelf
from penstock.memory.spill import Scratch

Index = NDArray[np.int64]
MOVED = 1 << 20
"""About the bytes that are moved at a time from one kind of shelf to another."""


class SlotStore:
    """Rows in slots. Another thread may ask it for memory at any moment (`Ledger.keepers`)."""

    def __init__(
        self,
        account: Account,
        scratch: Callable[[], Scratch],
        empty: Empty = np.empty,
        note: Callable[[str], None] = lambda _: None,
        both: Both = one_by_one,
    ) -> None:
        self._account = account
        self._scratch = scratch
        self._empty = empty
        self._note = note
        self._both = both
        self._shelf: Shelf | None = None
        self._filled = np.zeros(0, bool)
        self._lock = threading.Lock()
        account.ledger.keepers.append(self._give_back)

    def gather(self, sources: Index, block: Block | None = None) -> Block:
        """The rows of these sources: a slot, or, below 0, row `-1 - source` of `block`."""
        with self._lock:
            if block is not None and (self._shelf is None or not self._shelf.accepts(block)):
                return self._gather_mixed(sources, block)
            assert self._shelf is not None
            return self._shelf.gather(sources, block, self._empty)

    def sizes(self, slots: Index) -> Index | None:
        """The bytes of the rows in these slots; None where all are of one size."""
        with self._lock:
            return None if self._shelf is None or self._shelf.even else self._shelf.row_sizes(slots)

    def put(self, slots: Index, block: Block, rows: Index | None = None) -> None:
        """Put these rows of `block`, or all, into these slots, over what was there."""
        if len(slots) == 0:
            return
        with self._lock:
            shelf = self._shelf_for(block)
            over = self._account.over()
            if over:
                shelf.spill(over)
            self._mark(slots)
            shelf.put(slots, block, rows)

    def exchange(self, sources: Index, block: Block, slots: Index, rows: Index) -> Block:
        """The rows of these sources, as by `gather`; these rows of `block` are then in these slots.

        So `order.exchange` says: what is read of a slot is read before a row is put there.
        """
        with self._lock:
            shelf = self._shelf
            if isinstance(shelf, DenseShelf) and shelf.accepts(block) and not self._account.over():
                made = shelf.exchange(sources, block, slots, rows, self._empty, self._both)
                if made is not None:
                    return made
        made = self.gather(sources, block)
        self.put(slots, block, rows)
        return made

    def put_aside(self, block: Block, slot: int) -> int:
        """Put the row of a block into a spare slot, above `slot` and all that are filled; `move` follows."""
        spare = int(np.append(np.flatnonzero(self._filled), slot).max()) + 1
        self.put(np.array([spare]), block)
        return spare

    def move(self, spare: int, slot: int) -> None:
        """Have the row that was put aside in this slot, over what was there."""
        with self._lock:
            assert self._shelf is not None
            self._shelf.move(spare, slot)
            self._filled[spare] = False
            self._mark(np.array([slot]))

    def close(self) -> None:
        """Forget all rows and give everything back."""
        with self._lock:
            keepers = self._account.ledger.keepers
            if self._give_back in keepers:
                keepers.remove(self._give_back)
            if self._shelf is not None:
                self._shelf.close()
                self._shelf = None

    def _gather_mixed(self, sources: Index, block: Block) -> Block:
        """Rows of a block that the shelf cannot hold, among those that it holds."""
        stored = np.flatnonzero(sources >= 0)
        coming = np.flatnonzero(sources < 0)
        parts = []
        if len(stored):
            assert self._shelf is not None
            parts.append(self._shelf.gather(sources[stored], None, self._empty))
        if len(coming):
            parts.append(block.take(-1 - sources[coming], self._empty))
        if len(parts) == 1:
            return parts[0]
        back = np.empty(len(sources), np.int64)
        back[np.concatenate([stored, coming])] = np.arange(len(sources))
        return concat(parts).take(back, self._empty)

    def _mark(self, slots: Index) -> None:
        highest = int(slots.max())
        if highest >= len(self._filled):
            grown = np.zeros(max(highest + 1, 2 * len(self._filled)), bool)
            grown[: len(self._filled)] = self._filled
            self._filled = grown
        self._filled[slots] = True

    def _shelf_for(self, block: Block) -> Shelf:
        shelf = self._shelf
        if shelf is not None and shelf.accepts(block):
            return shelf
        better = self._new_shelf(block)
        if shelf is not None:
            self._move(shelf, better)
        self._shelf = better
        return better

    def _new_shelf(self, block: Block) -> Shelf:
        old, parts = self._shelf, parts_of(block)
        if old is None and all(isinstance(column, DenseColumn) for column in block.columns):
            return DenseShelf(block, self._account, self._scratch, self._note)
        if parts is not None and (old is None or old.parts == parts):
            return RecordShelf(block, self._account, self._scratch, self._note)
        return ObjectShelf(self._account, self._scratch, self._note)

    def _move(self, old: Shelf, new: Shelf) -> None:
        """Move all rows, the highest slots first, whose memory goes back as they leave."""
        slots = np.flatnonzero(self._filled)
        room = max(MOVED, self._account.ledger.budget // 64)
        while len(slots):
            sizes = np.cumsum(old.row_sizes(slots)[::-1])
            count = max(1, int(np.searchsorted(sizes, room, side="right")))
            slots, part = slots[:-count], slots[-count:]
            rows = old.gather(part, None, np.empty)
            old.drop_from(int(part[0]))
            new.put(part, rows, None)
            del rows  # before the next ones are gathered
        old.close()

    def _give_back(self, size: int) -> None:
        """Another op needs memory: give `size` bytes of it back, unless this store is busy."""
        if self._lock.acquire(blocking=False):
            try:
                if self._shelf is not None:
                    self._shelf.spill(size)
            finally:
                self._lock.release()
