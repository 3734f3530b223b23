"""The slots of a shuffle that is sized in bytes: rows enter while they fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import BytesColumn, Column, DenseColumn, RaggedColumn
from penstock.kernels.bits import bits, counters
from penstock.kernels.order import chain, draws
from penstock.ops.parts.coded import coded, decoded

Index = NDArray[np.int64]
NOWHERE = np.zeros(0, np.int64)
AHEAD = 1024


class ByteBuffer:
    """Decides what comes out for what goes in, by the rows' sizes alone.

    A row that does not fit lets drawn ones out until it does, and takes the place of the last of
    them. While all rows have one size, that is a buffer of a fixed number of slots.
    """

    def __init__(self, key: int, limit: int) -> None:
        self._key = key
        self._limit = limit
        self._drawn = 0
        self._row: int | None = None  # the size of every row so far, while it is one
        self.held = 0
        # Once sizes differ: for each place of the buffer the slot of its row, and the row's size.
        self._uneven = False
        self._slots: list[int] = []
        self._sizes: list[int] = []
        self._total = 0
        self._free: list[int] = []
        self._made = 0
        self._random: list[int] = []

    def places(self, numbers: Index) -> Index:
        """The slots at these places of the buffer."""
        return np.array(self._slots, np.int64)[numbers] if self._uneven else numbers

    def enter(self, block: Block) -> tuple[Index, Index, Index]:
        """Let rows in: what comes out, which rows stay, and the slots where they are to be put."""
        sizes = np.maximum(payload(block), 1)  # not even empty rows may come in without end
        if not self._uneven:
            if self._row is None:
                self._row = int(sizes[0])
            if (sizes == self._row).all():
                return self._enter_even(block.rows, max(1, self._limit // max(self._row, 1)))
            self._part_ways()
        return self._enter_uneven(sizes.tolist())

    def enter_failed(self) -> int:
        """Let a failed element in, which takes no bytes: the slot that stands for it."""
        if not self._uneven:
            self._part_ways()
        slot = self._free_slot()
        self._slots.append(slot)
        self._sizes.append(0)
        self.held += 1
        return slot

    def state(self) -> dict[str, Any]:
        """Plain data about what is held, but for the rows."""
        sizes = self._sizes if self._uneven else None
        return {"drawn": self._drawn, "row": self._row, "held": self.held, "sizes": _coded(sizes)}

    def restore(self, state: dict[str, Any]) -> None:
        """Hold what another one held, the row of every place in the slot of that number."""
        self._drawn, self._row, self.held = state["drawn"], state["row"], state["held"]
        sizes = _decoded(state["sizes"])
        if sizes is not None:
            self._part_ways()
            self._sizes, self._total = sizes.tolist(), int(sizes.sum())

    def _enter_even(self, rows: int, capacity: int) -> tuple[Index, Index, Index]:
        fill = min(rows, max(capacity - self.held, 0))
        filled = np.arange(self.held, self.held + fill)
        self.held += fill
        if fill == rows:
            return NOWHERE, np.arange(rows), filled
        slots = draws(self._key, self._drawn, rows - fill, capacity)
        self._drawn += rows - fill
        # The rows that fill are the first to be drawn over, as if they had drawn their own slots.
        slots = np.concatenate([filled, slots])
        earlier, last = chain(slots, capacity)
        return np.where(earlier < 0, slots, -1 - earlier)[fill:], last, slots[last]

    def _part_ways(self) -> None:
        self._uneven = True
        self._made = self.held
        self._slots = list(range(self.held))
        self._sizes = [self._row or 0] * self.held
        self._total = (self._row or 0) * self.held

    def _enter_uneven(self, sizes: list[int]) -> tuple[Index, Index, Index]:
        slots, held = self._slots, self._sizes
        out: list[int] = []
        new: dict[int, int] = {}  # the place of each row of this block that is in the buffer
        for row, size in enumerate(sizes):
            source = -1 - row
            while slots and self._total + size > self._limit:
                place = self._draw() * len(slots) >> 64
                gone = slots[place]
                out.append(gone)
                self._total -= held[place]
                if gone >= 0:
                    self._free.append(gone)
                else:
                    del new[-1 - gone]
                if len(slots) == 1 or self._total + size <= self._limit:
                    slots[place], held[place], new[row] = source, size, place
                    break
                slots[place], held[place] = slots[-1], held[-1]
                if slots[place] < 0 and place < len(slots) - 1:
                    new[-1 - slots[place]] = place
                slots.pop()
                held.pop()
            else:
                new[row] = len(slots)
                slots.append(source)
                held.append(size)
            self._total += size
        for place in new.values():
            slots[place] = self._free_slot()
        self.held = len(slots)
        rows = np.fromiter(new, np.int64, len(new))
        puts = np.array([slots[place] for place in new.values()], np.int64)
        return np.array(out, np.int64), rows, puts

    def _free_slot(self) -> int:
        if self._free:
            return self._free.pop()
        self._made += 1
        return self._made - 1

    def _draw(self) -> int:
        at = self._drawn % AHEAD
        if not self._random or at == 0:
            self._random = bits(self._key, counters(self._drawn - at, AHEAD)).tolist()
        self._drawn += 1
        return self._random[at]


def _coded(numbers: Any) -> str | None:
    return None if numbers is None else coded(np.array(numbers, np.int64))


def _decoded(text: str | None) -> Index | None:
    return None if text is None else decoded(text)


def payload(block: Block) -> Index:
    """The bytes of every row's leaves, whatever kind of column holds them."""
    sizes = np.zeros(block.rows, np.int64)
    for column in block.columns:
        sizes += _payload(column)
    return sizes


def _payload(column: Column) -> Index | int:
    if isinstance(column, DenseColumn):
        return column.array.nbytes // max(len(column.array), 1)
    if isinstance(column, BytesColumn):
        sizes: Index = np.diff(column.offsets).reshape(column.rows, -1).sum(axis=1)
        return sizes
    if isinstance(column, RaggedColumn):
        return np.diff(column.offsets) * column.values.itemsize
    return np.array([_leaf_bytes(leaf) for leaf in column.items()], np.int64)


def _leaf_bytes(leaf: Any) -> int:
    if isinstance(leaf, np.ndarray) and leaf.dtype == object:
        return sum(_leaf_bytes(item) for item in leaf.flat)
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.nbytes
    if isinstance(leaf, str):
        return len(leaf.encode())
    return len(leaf) if isinstance(leaf, bytes) else 64
