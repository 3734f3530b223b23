"""`shard`: every n-th element."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ArgumentError, ElementError
from penstock.graph import checks
from penstock.graph.op import INFINITE, UNKNOWN, Op
from penstock.graph.running import Context, Running


@dataclass(frozen=True, eq=False, kw_only=True)
class Shard(Op):
    """The elements whose number divided by `num_shards` leaves `index`."""

    num_shards: int
    index: int

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

    def start(self, context: Context) -> Running:
        return RunningShard(self, context)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        above = self.inputs[0].cardinality
        if above in (INFINITE, UNKNOWN):
            return above
        return len(range(self.index, above, self.num_shards))


class RunningShard(Running):
    """Gathers its own rows, alone where the source has random access, else out of each block.

    An element that fails is raised in every shard, for whoever reads past it cannot know what it
    would have been; it has its number all the same, so the shards stay in step. Where a shard gathers
    its own rows, it is raised in its shard alone.
    """

    def __init__(self, op: Shard, context: Context) -> None:
        self._context = context
        self._upstream = context.input()
        self._step = op.num_shards
        self._index = op.index
        self._seen = 0
        self._row_bytes: int | None = None

    def pull(self, rows: int) -> Block | None:
        if self._upstream.random_access and self._upstream.size >= 0:
            return self._gather(rows)
        while True:
            try:
                block = self._upstream.pull(self._needed(rows))
            except ElementError:
                self._seen += 1
                raise
            if block is None:
                return None
            self._row_bytes = block.nbytes // block.rows
            own = np.arange(self._gap(), block.rows, self._step)
            self._seen += block.rows
            if len(own) == block.rows:
                return block
            if len(own):
                return block.take(own, self._context.empty)

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
        own = range(self._index, self._upstream.size, self._step)[self._seen : self._seen + rows]
        if not own:
            return None
        try:
            block = self._upstream.gather(np.arange(own.start, own.stop, own.step))
        except ElementError:
            self._seen += 1
            raise
        self._seen += block.rows
        return block
