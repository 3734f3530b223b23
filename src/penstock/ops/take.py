"""`take`: the first elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.graph import checks
from penstock.graph.op import INFINITE, UNKNOWN, Op
from penstock.graph.running import Context, Running


@dataclass(frozen=True, eq=False, kw_only=True)
class Take(Op):
    """The first `count` elements; -1 for all."""

    count: int

    name = "take"

    def __post_init__(self) -> None:
        checks.count(self.count, "take(count=)", least=0, also={-1: "-1"})

    def start(self, context: Context) -> Running:
        return RunningTake(self, context)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        above = self.inputs[0].cardinality
        if self.count < 0 or above == UNKNOWN:
            return above
        return self.count if above == INFINITE else min(self.count, above)


class RunningTake(Running):
    """Asks for no more than is left; an element that fails is not counted."""

    exact = True

    def __init__(self, op: Take, context: Context) -> None:
        self._upstream = context.input()
        self._counts = op.count >= 0
        self._left = op.count

    def pull(self, rows: int) -> Block | None:
        if not self._counts:
            return self._upstream.pull(rows)
        if self._left == 0:
            self._upstream.close()
            return None
        block = self._upstream.pull(min(rows, self._left))
        self._left = 0 if block is None else self._left - block.rows
        return block

    def state(self) -> Any:
        return {"input": self._upstream.state(), "left": self._left}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._left = state["left"]
