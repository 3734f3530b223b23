"""`repeat`: the same dataset several times over, or without end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.graph import checks
from penstock.graph.op import INFINITE, UNKNOWN, Op
from penstock.graph.running import Context, Input, Running

FEW = 256
"""So many rows, and no more, are laid out again and again."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Repeat(Op):
    """The input `count` times; None or -1 without end."""

    count: int | None = None

    name = "repeat"
    parted = "evenly"

    def __post_init__(self) -> None:
        if self.count is not None:
            checks.count(self.count, "repeat(count=)", least=0, also={-1: "-1"})

    def start(self, context: Context) -> Running:
        return RunningRepeat(self, context)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        above = self.inputs[0].cardinality
        if self.count == 0 or above == 0:
            return 0
        if self.endless:
            return INFINITE
        assert self.count is not None
        return above if above in (INFINITE, UNKNOWN) else above * self.count

    @property
    def endless(self) -> bool:
        """Whether it never ends, unless the input is empty."""
        return self.count is None or self.count < 0


class RunningRepeat(Running):
    """Starts its input again and again, each time with an epoch of its own.

    Without end, a repetition that brought no element is the last: an empty input does not hang.
    A few rows that are in memory are laid out many times over at once: to start an input takes longer
    than to bring them.
    """

    exact = True

    def __init__(self, op: Repeat, context: Context) -> None:
        self._context = context
        self._endless = op.endless
        self._count = op.count or 0
        self._repetition = 0
        self._upstream: Input | None = None
        self._empty = True
        above = op.inputs[0]
        self._few = above.cardinality if above.traits.random_access and above.cardinality <= FEW else 0
        self._all: Block | None = None

    def state(self) -> Any:
        ended = not self._endless and self._repetition >= self._count
        if self._upstream is None and not ended:
            self._upstream = self._context.input(repetition=self._repetition)
        upstream = None if ended or self._upstream is None else self._upstream.state()
        return {"repetition": self._repetition, "input": upstream, "empty": self._empty, "ended": ended}

    def restore(self, state: Any) -> None:
        self._repetition, self._empty = state["repetition"], state["empty"]
        if state["ended"]:
            self._endless, self._count = False, 0
        else:
            self._upstream = self._context.input(repetition=self._repetition)
            self._upstream.restore(state["input"])

    def pull(self, rows: int) -> Block | None:
        while self._endless or self._repetition < self._count:
            if self._upstream is None:
                if self._all is not None and rows >= 2 * self._all.rows:
                    return self._many(self._all, rows)
                self._upstream = self._context.input(repetition=self._repetition)
            block = self._upstream.pull(rows)
            if block is not None:
                self._empty = False
                if block.rows == self._few and block.origin is None and block.numbers is None:
                    self._all = block
                return block
            self._upstream.close()
            self._upstream = None
            self._repetition += 1
            if self._endless and self._empty:
                self._endless, self._count = False, 0
            self._empty = True
        return None

    def _many(self, block: Block, rows: int) -> Block:
        times = rows // block.rows
        if not self._endless:
            times = min(times, self._count - self._repetition)
        self._repetition += times
        return block.take(np.tile(np.arange(block.rows), times), self._context.empty)

    def close(self) -> None:
        self._all = None
