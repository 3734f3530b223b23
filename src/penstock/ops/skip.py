"""`skip`: all but the first elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ElementError
from penstock.graph import checks
from penstock.graph.op import INFINITE, UNKNOWN, Op
from penstock.graph.running import Context, Running


@dataclass(frozen=True, eq=False, kw_only=True)
class Skip(Op):
    """All but the first `count` elements; -1 skips the whole dataset."""

    count: int

    name = "skip"

    def __post_init__(self) -> None:
        checks.count(self.count, "skip(count=)", least=0, also={-1: "-1"})

    def start(self, context: Context) -> Running:
        return RunningSkip(self, context)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        above = self.inputs[0].cardinality
        if self.count < 0:
            return 0
        return above if above in (INFINITE, UNKNOWN) else max(above - self.count, 0)


class RunningSkip(Running):
    """Reads past the first elements, or starts behind them where the source has random access.

    An element that fails while it is read past is raised in its place and not counted: what `take`
    of the same count leaves is what `skip` gives. Where it is not read past, nobody knows that it
    would fail: it is counted.
    """

    exact = True

    def __init__(self, op: Skip, context: Context) -> None:
        self._context = context
        self._upstream = context.input()
        self._ended = op.count < 0
        self._left = op.count
        self._at = op.count
        self._ask = 1

    def pull(self, rows: int) -> Block | None:
        if self._ended:
            return None
        if self._upstream.random_access and self._upstream.size >= 0:
            return self._from_middle(rows)
        while self._left:
            passed = self._upstream.pull(min(self._left, self._ask))
            if passed is None:
                self._ended = True
                return None
            self._left -= passed.rows
            most = self._context.rows_for(passed.nbytes // passed.rows)
            self._ask = max(1, min(2 * self._ask, most))
            del passed  # its memory is free for the next one
        return self._upstream.pull(rows)

    def state(self) -> Any:
        return {"input": self._upstream.state(), "left": self._left, "at": self._at, "ended": self._ended}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._left = state["left"]
        self._at = state["at"]
        self._ended = state["ended"]

    def _from_middle(self, rows: int) -> Block | None:
        first, last = self._at, min(self._at + rows, self._upstream.size)
        if first >= last:
            return None
        try:
            block = self._upstream.gather(np.arange(first, last))
        except ElementError:
            self._at += 1
            raise
        self._at += block.rows
        return block
