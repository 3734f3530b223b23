"""The ways in which a slot store holds rows."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import column_of
from penstock.blocks.columns import Column, DenseColumn, size_of
from penstock.blocks.pack import pickle_row
from penstock.blocks.placed import worth_placing
from penstock.blocks.placed_rows import PlacedRows, row_places
from penstock.blocks.records import Part, parts_of
from penstock.blocks.structure import Structure
from penstock.kernels.halves import Both
from penstock.kernels.spans import Empty, exchange_rows
from penstock.memory.account import Account
from penstock.memory.pages import GrowingArray
from penstock.memory.slabs import Slabs
from penstock.memory.spill import Scratch

Index = NDArray[np.int64]
STEP = 1 << 20
"""Memory for small rows is asked for in steps of at least so many bytes, if the budget is large."""
SPILLED = "keeps rows in a scratch file, to stay in the budget"


class Shelf(ABC):
    """Rows in numbered slots, held in one way."""

    parts: tuple[Part, ...] | None = None
    """What the records of the rows would be made of; None where they cannot be records."""
    even = False
    """Whether all rows are of one size."""

    @abstractmethod
    def accepts(self, block: Block) -> bool:
        """Whether rows of this block can be held in this way."""

    @abstractmethod
    def put(self, slots: Index, block: Block, rows: Index | None) -> None:
        """Put these rows of `block`, or all, into these slots."""

    @abstractmethod
    def gather(self, sources: Index, block: Block | None, empty: Empty) -> Block:
        """The rows of these sources: a slot, or, below 0, row `-1 - source` of `block`."""

    @abstractmethod
    def row_sizes(self, slots: Index) -> Index:
        """The bytes of the rows in these slots."""

    @abstractmethod
    def spill(self, size: int) -> None:
        """Give `size` bytes of memory back, by putting rows on disk."""

    @abstractmethod
    def move(self, source: int, slot: int) -> None:
        """Have the row of slot `source` in this slot, over what was there; `source` is above all others."""

    @abstractmethod
    def drop_from(self, slot: int) -> None:
        """Forget this slot and all above it."""

    def close(self) -> None:
        """Forget all rows and give everything back."""
        self.drop_from(0)


class DenseShelf(Shelf):
    """Rows of one shape: the first slots in arrays, the others in the file, a fixed size each."""

    even = True

    def __init__(
        self,
        block: Block,
        account: Account,
        scratch: Callable[[], Scratch],
        note: Callable[[str], None],
    ) -> None:
        dense = [column for column in block.columns if isinstance(column, DenseColumn)]
        self._structure = block.structure
        self.parts = parts_of(block)
        self._kinds = [(column.dtype, column.row_shape) for column in dense]
        self._arrays = [GrowingArray(shape, dtype) for dtype, shape in self._kinds]
        sizes = [dtype.itemsize * int(np.prod(shape)) for dtype, shape in self._kinds]
        self._sizes = sizes
        self._row_bytes = max(sum(sizes), 1)
        self._account = account
        self._scratch = scratch
        self._note = note
        self._room = 0  # slots in memory: those below this number
        self._highest = 0  # one more than the highest slot in use
        self._spilled = False
        self._segment_rows = max(1, STEP // self._row_bytes)
        self._segments: dict[int, int] = {}  # a segment's number and its offset in the file

    def accepts(self, block: Block) -> bool:
        return len(block.columns) == len(self._kinds) and all(
            isinstance(column, DenseColumn) and column.dtype == dtype and column.row_shape == shape
            for column, (dtype, shape) in zip(block.columns, self._kinds, strict=True)
        )

    def put(self, slots: Index, block: Block, rows: Index | None) -> None:
        needed = int(slots.max()) + 1
        if needed > self._room and not self._spilled:
            self._grow(needed)
        self._highest = max(self._highest, needed)
        if needed <= self._room:
            self._put_in_memory(slots, block, rows)
            return
        here = slots < self._room
        if rows is None:
            rows = np.arange(block.rows)
        self._put_in_memory(slots[here], block, rows[here])
        arrays = [_array(column) for column in block.columns]
        for slot, row in zip(slots[~here].tolist(), rows[~here].tolist(), strict=True):
            self._write(slot, [array[row] for array in arrays])

    def _put_in_memory(self, slots: Index, block: Block, rows: Index | None) -> None:
        if len(slots) == 0:
            return
        first = int(slots[0])
        in_order = rows is None and int(slots[-1]) == first + len(slots) - 1
        for column, held in zip(block.columns, self._arrays, strict=True):
            if isinstance(column, PlacedRows):
                column.put(rows, held.rows, slots)
                continue
            array = _array(column)
            if in_order:  # as they come while the buffer fills
                held.rows[first : first + len(slots)] = array
            else:
                held.rows[slots] = array if rows is None else array[rows]

    def _grow(self, needed: int) -> None:
        """Have room for `needed` slots in memory, if it is granted; it is as much as there is."""
        one = self._row_bytes
        step = min(STEP, self._account.ledger.budget // 32) // one
        for rows in (max(needed, self._room + step, self._room * 9 // 8), needed):
            if self._account.request((rows - self._room) * one):
                self._resize(rows)
                return
        self._spilled = True
        self._note(SPILLED)

    def _resize(self, rows: int) -> None:
        for held in self._arrays:
            held.resize(rows)
        self._room = rows

    def gather(self, sources: Index, block: Block | None, empty: Empty) -> Block:
        count = len(sources)
        coming = np.flatnonzero(sources < 0) if block is not None else sources[:0]
        away = np.flatnonzero(sources >= self._room) if self._spilled else sources[:0]
        outs = []
        for number, held in enumerate(self._arrays):
            out = empty((count, *held.rows.shape[1:]), held.rows.dtype)
            if len(held.rows):
                # mode="clip": sources that are not in memory are overwritten below.
                np.take(held.rows, sources, axis=0, out=out, mode="clip")
            column = None if block is None or not len(coming) else block.columns[number]
            if isinstance(column, PlacedRows):
                column.put(-1 - sources[coming], out, coming)
            elif column is not None:
                out[coming] = _array(column)[-1 - sources[coming]]
            outs.append(out)
        for i in away.tolist():
            self._read(int(sources[i]), [out[i : i + 1] for out in outs])
        return Block(self._structure, [DenseColumn(out) for out in outs], count)

    def exchange(
        self, sources: Index, block: Block, slots: Index, rows: Index, empty: Empty, both: Both
    ) -> Block | None:
        """`gather` these sources and `put` these rows, in one pass; None where it takes two."""
        places = [row_places(column) for column in block.columns]
        known = [place for place in places if place is not None]
        if self._spilled or int(slots.max()) >= self._room or len(known) < len(places):
            return None
        if not worth_placing(len(sources) * self._row_bytes, len(sources)):
            return None
        outs = [empty((len(sources), *held.rows.shape[1:]), held.rows.dtype) for held in self._arrays]
        for (begins, _), held, out in zip(known, self._arrays, outs, strict=True):
            exchange_rows(held.rows, sources, begins, slots, rows, out, both)
        return Block(self._structure, [DenseColumn(out) for out in outs], len(sources))

    def row_sizes(self, slots: Index) -> Index:
        return np.full(len(slots), self._row_bytes, np.int64)

    def spill(self, size: int) -> None:
        fewer = min(-(-size // self._row_bytes), self._room)
        if fewer == 0:
            return
        self._note(SPILLED)
        keep = self._room - fewer
        for slot in range(keep, min(self._room, self._highest)):
            self._write(slot, [held.rows[slot] for held in self._arrays])
        self._spilled = True
        self._resize(keep)
        self._account.release(fewer * self._row_bytes)

    def move(self, source: int, slot: int) -> None:
        one = slice(slot, slot + 1)
        if source < self._room:
            for held in self._arrays:
                held.rows[one] = held.rows[source]
        elif slot < self._room:
            self._read(source, [held.rows[one] for held in self._arrays])
        elif self._segment_rows == 1:
            self._segments[slot], self._segments[source] = self._place(source), self._place(slot)
        else:
            self._scratch().copy(self._place(source), self._place(slot), self._row_bytes)
        self._highest = source

    def drop_from(self, slot: int) -> None:
        self._highest = min(self._highest, slot)
        if slot < self._room:
            gone = self._room - slot
            self._resize(slot)
            self._account.release(gone * self._row_bytes)
        for segment in list(self._segments):
            if segment * self._segment_rows >= slot:
                size = self._segment_rows * self._row_bytes
                self._scratch().free(self._segments.pop(segment), size)

    def close(self) -> None:
        self.drop_from(0)
        for held in self._arrays:
            held.close()

    def _place(self, slot: int) -> int:
        segment, row = divmod(slot, self._segment_rows)
        if segment not in self._segments:
            size = self._segment_rows * self._row_bytes
            self._segments[segment] = self._scratch().allocate(size)
        return self._segments[segment] + row * self._row_bytes

    def _write(self, slot: int, leaves: list[Any]) -> None:
        offset, scratch = self._place(slot), self._scratch()
        for leaf, size in zip(leaves, self._sizes, strict=True):
            scratch.write(offset, np.asarray(leaf))
            offset += size

    def _read(self, slot: int, outs: list[NDArray[Any]]) -> None:
        offset, scratch = self._place(slot), self._scratch()
        for out, size in zip(outs, self._sizes, strict=True):
            scratch.read(offset, out)
            offset += size


def _array(column: Column) -> NDArray[Any]:
    assert isinstance(column, DenseColumn)
    return column.array


class ObjectShelf(Shelf):
    """Rows of anything, one by one, in a list; those that are on disk are pickled."""

    def __init__(self, account: Account, scratch: Callable[[], Scratch], note: Callable[[str], None]) -> None:
        self._structure: Structure | None = None
        self._account = account
        self._note = note
        self._rows: list[tuple[Any, ...] | None] = []
        self._sizes: list[int] = []
        self._slabs = Slabs(scratch)
        self._away: dict[int, tuple[int, int]] = {}  # where a slot's pickle is in the file

    def accepts(self, block: Block) -> bool:  # noqa: ARG002
        return True

    def put(self, slots: Index, block: Block, rows: Index | None) -> None:
        self._structure = block.structure
        numbers = range(block.rows) if rows is None else rows.tolist()
        for slot, row in zip(slots.tolist(), numbers, strict=True):
            self._put_row(slot, tuple(_own(column.item(row)) for column in block.columns))

    def _put_row(self, slot: int, leaves: tuple[Any, ...]) -> None:
        while slot >= len(self._rows):
            self._rows.append(None)
            self._sizes.append(0)
        self._forget(slot)
        size = sum(map(size_of, leaves)) + 64
        if self._account.request(size):
            self._rows[slot], self._sizes[slot] = leaves, size
        else:
            self._write(slot, leaves)

    def _write(self, slot: int, leaves: tuple[Any, ...]) -> None:
        self._note(SPILLED)
        record = np.frombuffer(pickle_row(leaves), np.uint8)
        self._away[slot] = self._slabs.write(record), len(record)

    def _forget(self, slot: int) -> None:
        if slot in self._away:
            self._slabs.free(*self._away.pop(slot))
        if self._sizes[slot]:
            self._account.release(self._sizes[slot])
            self._rows[slot], self._sizes[slot] = None, 0

    def _leaves(self, slot: int) -> tuple[Any, ...]:
        leaves = self._rows[slot]
        if leaves is not None:
            return leaves
        offset, size = self._away[slot]
        record = np.empty(size, np.uint8)
        self._slabs.read(offset, record)
        read: tuple[Any, ...] = pickle.loads(record.data)
        return read

    def gather(self, sources: Index, block: Block | None, empty: Empty) -> Block:  # noqa: ARG002
        rows = []
        for source in sources.tolist():
            if source >= 0:
                rows.append(self._leaves(source))
            else:
                assert block is not None
                rows.append(tuple(column.item(-1 - source) for column in block.columns))
        columns = [column_of(leaves) for leaves in zip(*rows, strict=True)]
        structure = self._structure if block is None else block.structure
        assert structure is not None
        return Block(structure, columns, len(rows))

    def row_sizes(self, slots: Index) -> Index:
        sizes = [self._away[slot][1] if slot in self._away else self._sizes[slot] for slot in slots.tolist()]
        return np.array(sizes, np.int64)

    def spill(self, size: int) -> None:
        freed = 0
        for slot in range(len(self._rows) - 1, -1, -1):
            if freed >= size:
                return
            leaves, held = self._rows[slot], self._sizes[slot]
            if leaves is not None:
                self._forget(slot)
                self._write(slot, leaves)
                freed += held

    def move(self, source: int, slot: int) -> None:
        self._forget(slot)
        if source in self._away:
            self._away[slot] = self._away.pop(source)
        self._rows[slot], self._sizes[slot] = self._rows[source], self._sizes[source]
        del self._rows[source:], self._sizes[source:]

    def drop_from(self, slot: int) -> None:
        for number in range(slot, len(self._rows)):
            self._forget(number)
        del self._rows[slot:], self._sizes[slot:]

    def close(self) -> None:
        self.drop_from(0)
        self._slabs.close()


def _own(leaf: Any) -> Any:
    """A leaf that holds on to nothing but itself."""
    return leaf.copy() if isinstance(leaf, np.ndarray) and leaf.base is not None else leaf
