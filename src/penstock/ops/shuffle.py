"""`shuffle`: the same elements in a random order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.placed_rows import is_placed
from penstock.blocks.spec import Spec
from penstock.blocks.structure import LEAF
from penstock.errors import ArgumentError, ElementError
from penstock.graph import checks
from penstock.graph.op import INFINITE, UNKNOWN, Op, Traits
from penstock.graph.running import Context, Running
from penstock.kernels.order import Drain
from penstock.memory.slots import SlotStore
from penstock.ops.parts.assembly import is_locked
from penstock.ops.parts.reservoir import Reservoir
from penstock.ops.parts.trail import Trail, mark_of, said
from penstock.options import parse_bytes

Index = NDArray[np.int64]

AT_ONCE = 4
"""Of rows that are still where they were read to, so many times as are needed are asked for, up to a block:
what is made of them may be larger than they are, and then few of them are needed at a time."""
FIRST, AHEAD = 1 << 12, 1 << 13
"""Row numbers are put in order so many at a time, at first and at most: a number is cheap, a call is not."""
NUMBER_BYTES = 64
"""About what it takes to put one in order."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Shuffle(Op):
    """Draws every element from a buffer of `buffer_size` elements, of bytes, or of all."""

    buffer_size: int | str | None = None
    seed: int | None = None
    reshuffle_each_iteration: bool = True
    numbered: bool = field(default=False, repr=False)
    """Rows are given their input numbers, because an op that needs them now comes after."""
    indexed: bool = field(default=False, repr=False)
    """Only the row numbers of a source with random access are kept."""

    name = "shuffle"
    parted = "evenly"
    traits = Traits(reorders=True)

    def __post_init__(self) -> None:
        if isinstance(self.buffer_size, str):
            parse_bytes(self.buffer_size, f"shuffle(buffer_size=) at {self.site}")
        elif self.buffer_size is not None:
            checks.count(
                self.buffer_size,
                "shuffle(buffer_size=)",
                least=1,
                also={UNKNOWN: "ps.UNKNOWN"},
                words=" or None for the whole",
            )
        checks.seed(self.seed, "shuffle(seed=)")
        checks.flag(self.reshuffle_each_iteration, "shuffle(reshuffle_each_iteration=)")
        if self.rows is None and self.bytes is None and self.inputs[0].cardinality == INFINITE:
            raise ArgumentError(
                self.fail(
                    "expected a dataset that ends, to shuffle the whole of it, but this one is "
                    "endless. Give a buffer_size, or shuffle before the repeat."
                )
            )

    @property
    def rows(self) -> int | None:
        """The number of slots; None where bytes were said, or the whole input."""
        size = self.buffer_size
        return None if isinstance(size, str) or size in (None, UNKNOWN) else size

    @property
    def bytes(self) -> int | None:
        """The size of the buffer in bytes; None where rows were said, or the whole input."""
        return parse_bytes(self.buffer_size) if isinstance(self.buffer_size, str) else None

    @property
    def hoistable(self) -> bool:
        return self.bytes is None  # how many rows fit a number of bytes changes in a map

    @property
    def shape(self) -> str:
        return f"{self.name}{' numbered' if self.numbered else ''}{' indexed' if self.indexed else ''}"

    def with_carried_numbers(self) -> Shuffle:
        return replace(self, numbered=True)

    def in_index_space(self, *, costly: bool = False) -> Shuffle:
        keep = self.indexed or self.bytes is not None or (costly and self.rows is not None)
        return self if keep else replace(self, indexed=True)

    def start(self, context: Context) -> Running:
        seed = self.own_seed if self.seed is None else self.seed
        key = context.key(seed, explicit=self.seed is not None, each_epoch=self.reshuffle_each_iteration)
        if self.indexed:
            return RunningIndexShuffle(self, context, key)
        return RunningShuffle(self, context, key)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        return self.inputs[0].cardinality


class RunningShuffle(Running):
    """Keeps rows in slots.

    A state has none of them. It says where the input stood before the oldest row that is held, and which
    rows are held is computed again: so it is small, and to go on means to fill the slots once more.
    """

    def __init__(self, op: Shuffle, context: Context, key: int) -> None:
        self._context = context
        self._upstream = Trail(context.input(), lambda: self._reservoir.oldest())
        self._known = 0  # bytes reserved to know which inputs are held
        self._reservoir = Reservoir(
            key,
            op.rows,
            op.bytes,
            SlotStore(context.account, context.scratch, context.empty, context.note, context.both),
            self._next,
            context.rows_for,
            numbered=op.numbered,
            room=self._room,
            fits=self._fits,
            at_once=lambda: context.block_bytes,
        )
        self._largest = 0
        self._whole = 0  # the rows of a block that may be asked for before they are needed
        self._steady = 0  # how many were needed last time
        self._coming: Block | None = None

    def _room(self, size: int) -> bool:
        granted = self._context.account.request(size)
        self._known += size if granted else 0
        return granted

    def _fits(self, size: int) -> bool:
        ledger, account = self._context.ledger, self._context.account
        return ledger.room(account) + ledger.idle >= size

    def _pull(self, rows: int) -> Block | None:
        block = self._upstream.pull(rows)
        if block is not None and block.nbytes > self._largest:
            # The rows that come out are as large: their room is not for slots.
            self._largest = block.nbytes
            one = -(-block.nbytes // block.rows)
            self._context.account.expect(2 * max(one, self._context.block_bytes))
        return block

    def _next(self, rows: int) -> Block | None:
        block, self._coming = self._coming, None
        if block is None:
            # Who completes a batch needs fewer, and none beyond it: the next one is to begin with a block.
            most = self._whole if rows == self._steady else rows
            block = self._pull(max(rows, min(AT_ONCE * rows, most)))
            if block is None:
                return None
            placed = any(map(is_placed, block.columns))
            self._whole = self._context.rows_for(block.nbytes // block.rows) if placed else 0
        self._steady = rows
        if block.rows > rows:
            self._coming = block.slice(rows, block.rows)
            block = block.slice(0, rows)
        return block

    def pull(self, rows: int) -> Block | None:
        if self._reservoir.rests and self._reservoir.known:
            self._context.track.take(self.state)
        return self._reservoir.pull(rows)

    def state(self) -> Any:
        mark = self._upstream.before(self._reservoir.oldest())
        return {"from": said(mark), "slots": self._reservoir.state()}

    def restore(self, state: Any) -> None:
        slots, inputs = self._reservoir.restore(state["slots"])
        order = np.argsort(inputs)
        slots, inputs = slots[order], inputs[order]
        source, end = self._upstream, state["slots"]["entered"]
        source.go_back(mark_of(state["from"]))
        rows = 1
        while source.element < end:
            first, first_row = source.element, source.rows
            try:
                block = self._pull(min(rows, end - first))
            except ElementError as error:
                for slot in slots[inputs == first].tolist():
                    self._reservoir.refill_failed(slot, error)
                continue
            if block is None:
                raise ArgumentError(
                    f"{self._context.where}: expected the input to be as it was when the state was taken, "
                    f"but it ends after {first} elements, of {end}. Begin anew: ds.iterate()."
                )
            here = slice(*np.searchsorted(inputs, [first, source.element]))
            self._reservoir.refill(slots[here], block, inputs[here] - first, first_row)
            rows = min(2 * rows, self._context.rows_for(block.nbytes // block.rows))

    def close(self) -> None:
        self._coming = None
        self._reservoir.close()
        known, self._known = self._known, 0
        self._context.account.release(known)


class RunningIndexShuffle(Running):
    """Keeps row numbers, and gathers rows when they come out."""

    exact = True

    def __init__(self, op: Shuffle, context: Context, key: int) -> None:
        self._op = op
        self._upstream = context.input()
        self._rows_for = context.rows_for
        self._empty = context.empty
        self._numbered = op.numbered
        self._size = self._upstream.size
        self._at = 0
        spec = op.inputs[0].spec
        row_bytes = None if spec is None else spec.row_bytes
        self._most = 1 if row_bytes is None else context.rows_for(row_bytes)
        self._ahead_most = max(1, min(AHEAD, context.block_bytes // NUMBER_BYTES))
        self._slots = op.rows or 0
        self._order: Drain | Reservoir
        if op.rows is None or op.rows >= self._size:
            self._order = Drain(key, self._size)
        else:
            store = SlotStore(context.account, context.scratch, note=context.note)
            self._order = Reservoir(
                key, op.rows, None, store, self._next_numbers, lambda _: self._ahead_most, start_at=FIRST
            )
        self._ahead: Index = np.zeros(0, np.int64)
        self._given = 0

    def state(self) -> Any:
        return {"given": self._given, "size": self._size}

    def restore(self, state: Any) -> None:
        before = state.get("size", self._size)
        if before != self._size:
            raise ArgumentError(
                self._op.fail(
                    f"the state was taken in a shuffle of {before:,} elements, and there are "
                    f"{self._size:,} now: what they are read from has changed since. Begin the epoch anew, "
                    f"or go on with the data as they were."
                )
            )
        self._given = self._at = given = state["given"]
        if isinstance(self._order, Reservoir):
            self._at = min(given + self._slots, self._size)
            drained = max(0, given + self._slots - self._size)
            entered = {"entered": self._at, "drained": drained if self._at == self._size else None}
            slots, numbers = self._order.restore(entered)
            narrow = np.int32 if self._size < 1 << 31 else np.int64
            block = Block(LEAF, [DenseColumn(numbers.astype(narrow))], len(numbers))
            self._order.refill(slots, block, np.arange(len(slots)), 0)

    def _next_numbers(self, rows: int) -> Block | None:
        first, last = self._at, min(self._at + rows, self._size)
        self._at = last
        if first == last:
            return None
        narrow = np.int32 if self._size < 1 << 31 else np.int64
        return Block(LEAF, [DenseColumn(np.arange(first, last, dtype=narrow))], last - first)

    def pull(self, rows: int) -> Block | None:
        index = self._next_index(min(rows, self._most))
        if len(index) == 0:
            return None
        try:
            block = self._upstream.gather(index)
        except ElementError:
            self._ahead = np.concatenate([index[1:], self._ahead])
            self._given += 1
            raise
        if block.rows < len(index):  # what follows is large, or fails
            self._ahead = np.concatenate([index[block.rows :], self._ahead])
            index = index[: block.rows]
        self._given += block.rows
        if any(map(is_locked, block.columns)):
            # Rows that happen to lie in a row come as a view: as all others, they are to be a copy.
            block = block.take(np.arange(block.rows), self._empty)
        self._most = min(8 * max(self._most, rows), self._rows_for(block.nbytes // block.rows))
        if self._numbered:
            block = Block(block.structure, block.columns, block.rows, index, block.origin)
        return block

    def _next_index(self, rows: int) -> Index:
        while len(self._ahead) < rows:
            more = self._more()
            if len(more) == 0:
                break
            # In full, so that batches below do not end up across two blocks.
            self._ahead = np.concatenate([self._ahead, more]) if len(self._ahead) else more
        index, self._ahead = self._ahead[:rows], self._ahead[rows:]
        return index

    def _more(self) -> Index:
        if isinstance(self._order, Drain):
            first, self._at = self._at, min(self._at + self._ahead_most, self._size)
            return self._order.slots(first, self._at - first)
        numbers = self._order.pull(self._ahead_most)
        if numbers is None:
            return np.zeros(0, np.int64)
        column = numbers.columns[0]
        assert isinstance(column, DenseColumn)
        return column.array.astype(np.int64)

    def close(self) -> None:
        self._ahead = self._ahead[:0].copy()
        if isinstance(self._order, Reservoir):
            self._order.close()
