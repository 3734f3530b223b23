"""`shuffle`: the same elements in a random order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
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
from penstock.options import parse_bytes

Index = NDArray[np.int64]

FIRST, AHEAD = 1 << 12, 1 << 16
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
    """Keeps rows in slots."""

    def __init__(self, op: Shuffle, context: Context, key: int) -> None:
        self._context = context
        self._upstream = context.input()
        self._reservoir = Reservoir(
            key,
            op.rows,
            op.bytes,
            SlotStore(context.account, context.scratch, context.empty, context.note),
            self._pull,
            context.rows_for,
            numbered=op.numbered,
        )
        self._largest = 0

    def _pull(self, rows: int) -> Block | None:
        block = self._upstream.pull(rows)
        if block is not None and block.nbytes > self._largest:
            # The rows that come out are as large: their room is not for slots.
            self._largest = block.nbytes
            one = -(-block.nbytes // block.rows)
            self._context.account.expect(2 * max(one, self._context.block_bytes))
        return block

    def pull(self, rows: int) -> Block | None:
        return self._reservoir.pull(rows)

    def close(self) -> None:
        self._reservoir.close()


class RunningIndexShuffle(Running):
    """Keeps row numbers, and gathers rows when they come out."""

    def __init__(self, op: Shuffle, context: Context, key: int) -> None:
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
        self._order: Drain | Reservoir
        if op.rows is None or op.rows >= self._size:
            self._order = Drain(key, self._size)
        else:
            store = SlotStore(context.account, context.scratch, note=context.note)
            self._order = Reservoir(
                key, op.rows, None, store, self._next_numbers, lambda _: self._ahead_most, start_at=FIRST
            )
        self._ahead: Index = np.zeros(0, np.int64)

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
            raise
        if block.rows < len(index):  # what follows is large, or fails
            self._ahead = np.concatenate([index[block.rows :], self._ahead])
            index = index[: block.rows]
        if any(map(is_locked, block.columns)):
            # Rows that happen to lie in a row come as a view: as all others, they are to be a copy.
            block = block.take(np.arange(block.rows), self._empty)
        self._most = min(8 * max(self._most, rows), self._rows_for(block.nbytes // block.rows))
        if self._numbered:
            block = Block(block.structure, block.columns, block.rows, index)
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
        if isinstance(self._order, Reservoir):
            self._order.close()
