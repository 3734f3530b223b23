"""`shard`: every n-th element."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ArgumentError, ElementError
from penstock.graph import checks
from penstock.graph.op import INFINITE, UNKNOWN, Op, Traits
from penstock.graph.running import Context, Running
from penstock.ops.parts.assembly import joined

KEEP, DROP, PAD = REMAINDERS = ("keep", "drop", "pad")
"""What becomes of the last round, where there is not an element for every shard."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Shard(Op):
    """The elements whose number divided by `num_shards` leaves `index`.

    A *round* is `num_shards` elements, one for each shard. Of a last round that is not complete, the
    elements are kept, dropped, or it is padded with its first element.
    """

    num_shards: int
    index: int
    remainder: str = KEEP

    name = "shard"
    positional = ("num_shards", "index")

    def __post_init__(self) -> None:
        checks.count(self.num_shards, "shard(num_shards=)", least=1)
        checks.count(self.index, "shard(index=)", least=0)
        if self.index >= self.num_shards:
            raise ArgumentError(
                self.fail(
                    f"expected an index from 0 to {self.num_shards - 1}, as there are "
                    f"{self.num_shards} shards, got {self.index}."
                )
            )
        checks.one_of(self.remainder, REMAINDERS, "shard(remainder=)")
        above = self.inputs[0].traits
        if above.random_access and not above.costly_access:
            object.__setattr__(self, "traits", Traits(random_access=True))

    def over(self, *inputs: Op) -> Shard:
        return replace(self, inputs=inputs)  # whether rows can be gathered is another matter there

    def start(self, context: Context) -> Running:
        kind = RunningShard if self.remainder == KEEP else RunningEvenShard
        return kind(self, context)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        above = self.inputs[0].cardinality
        return above if above in (INFINITE, UNKNOWN) else self.count(above)

    def count(self, above: int) -> int:
        """How many of `above` elements are this shard's."""
        if self.remainder == DROP:
            return above // self.num_shards
        if self.remainder == PAD:
            return -(-above // self.num_shards)
        return len(range(self.index, above, self.num_shards))


class RunningShard(Running):
    """Gathers its own rows, alone where the source has random access, else out of each block.

    An element that fails is raised in every shard, for whoever reads past it cannot know what it
    would have been; it has its number all the same, so the shards stay in step. Where a shard gathers
    its own rows, it is raised in its shard alone.
    """

    exact = True

    def __init__(self, op: Shard, context: Context) -> None:
        self._op = op
        self._context = context
        self._upstream = context.input()
        self._step = op.num_shards
        self._index = op.index
        self._seen = 0
        self._newest = -1
        """The number of the last row of this shard that has been read."""
        self._row_bytes: int | None = None

    def pull(self, rows: int) -> Block | None:
        if self._upstream.random_access and self._upstream.size >= 0:
            return self._gather(rows)
        while True:
            block = self._next(rows)
            if block is None:
                return None
            own = self._own(block)
            if own is not None:
                return own

    def _next(self, rows: int) -> Block | None:
        """The next rows of all shards, enough for `rows` of this one or a block of them."""
        try:
            block = self._upstream.pull(self._needed(rows))
        except ElementError:
            self._seen += 1
            raise
        if block is not None:
            self._row_bytes = block.nbytes // block.rows
        return block

    def _own(self, block: Block) -> Block | None:
        """This shard's rows of a block."""
        own = np.arange(self._gap(), block.rows, self._step)
        if len(own):
            self._newest = self._seen + int(own[-1])
        self._seen += block.rows
        if len(own) == block.rows:
            return block
        return block.take(own, self._context.empty) if len(own) else None

    def state(self) -> Any:
        return {"input": self._upstream.state(), "seen": self._seen}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._seen = state["seen"]

    def _gap(self) -> int:
        """How many rows of others come before the next of this shard."""
        return (self._index - self._seen) % self._step

    def _needed(self, rows: int) -> int:
        """The rows to read for `rows` of this shard, but no more than a block."""
        if self._row_bytes is None:
            return self._gap() + 1
        wanted = self._gap() + 1 + (rows - 1) * self._step
        return min(wanted, max(rows, self._context.rows_for(self._row_bytes)))

    def _gather(self, rows: int) -> Block | None:
        own = np.arange(self._seen, min(self._seen + rows, self.size))
        if not len(own):
            return None
        try:
            block = self.gather(own)
        except ElementError:
            self._seen += 1
            raise
        self._seen += block.rows
        return block

    @property
    def size(self) -> int:
        """How many rows this shard has, where they can be gathered."""
        above = self._upstream.size
        return above if above < 0 else self._op.count(above)

    def gather(self, index: NDArray[np.int64]) -> Block:
        """The rows of these numbers within this shard."""
        numbers = index * self._step + self._index
        beyond = numbers >= self._upstream.size
        if beyond.any():  # padded with the first of its round
            numbers = np.where(beyond, index * self._step, numbers)
        return self._upstream.gather(numbers)


class RunningEvenShard(RunningShard):
    """Sees to it that all shards have the same number of rows, without knowing how many come."""

    exact = False

    def __init__(self, op: Shard, context: Context) -> None:
        super().__init__(op, context)
        self._drops = op.remainder == DROP
        self._kept: Block | None = None
        """One row of a round that is not complete: this shard's own, or what it is padded with."""
        self._ended = False

    def pull(self, rows: int) -> Block | None:
        if self._upstream.random_access and self._upstream.size >= 0:
            self._context.track.take(self.state)
            return self._gather(rows)
        while not self._ended:
            if not self._seen % self._step:  # between two rounds, whose rows have all been handed on
                self._context.track.take(self.state)
            block = self._next(rows)
            if block is None:
                self._ended = True
                return self._last()
            own = self._whole_rounds(block) if self._drops else self._noted(block)
            if own is not None:
                return own
        return None

    def _needed(self, rows: int) -> int:
        within = self._seen % self._step
        return self._step - within if within and self._context.track.pace.due else super()._needed(rows)

    def _whole_rounds(self, block: Block) -> Block | None:
        """Own rows up to the last round that is complete; one of a later round is kept."""
        own = self._own(block)
        parts = [part for part in (self._kept, own) if part is not None]
        if not parts:
            return None
        self._kept, ready = None, joined(parts, self._context.empty)
        if self._is_open():
            self._kept = ready.slice(ready.rows - 1, ready.rows)
            ready = ready.slice(0, ready.rows - 1)
        return ready if ready.rows else None

    def _is_open(self) -> bool:
        """Whether the round of the last row that was read is not complete."""
        return self._newest // self._step == self._seen // self._step

    def _noted(self, block: Block) -> Block | None:
        """Own rows; the first row of the round at hand is kept, in case it is not completed.

        If that one failed, that of the round before.
        """
        own = self._own(block)
        within = self._seen % self._step
        if 0 < within <= block.rows:
            self._kept = block.slice(block.rows - within, block.rows - within + 1)
        return own

    def _last(self) -> Block | None:
        kept, self._kept = self._kept, None
        if self._drops:
            return None if self._is_open() else kept
        return kept if 0 < self._seen % self._step <= self._index else None

    def close(self) -> None:
        self._kept = None
