"""`take_while`: the elements before the first that a function says no to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ElementError
from penstock.functions.predicate import Predicate
from penstock.graph import checks
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.ops.parts.dropped import let_go


@dataclass(frozen=True, eq=False, kw_only=True)
class TakeWhile(Op):
    """The elements before the first for which `predicate` is false."""

    predicate: Callable[..., Any]

    name = "take_while"

    def __post_init__(self) -> None:
        checks.function(self.predicate, "take_while(predicate=)", self.inputs[0])

    def start(self, context: Context) -> Running:
        return RunningTakeWhile(self, context)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        return UNKNOWN


class RunningTakeWhile(Running):
    """Cuts the stream at the first no; what fails behind it is not seen any more."""

    def __init__(self, op: TakeWhile, context: Context) -> None:
        self._context = context
        self._upstream = context.input()
        self._predicate = Predicate(op.predicate, op, context)
        self._error: ElementError | None = None
        self._rest: Block | None = None
        self._ended = False

    def pull(self, rows: int) -> Block | None:
        while not self._ended:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            block, self._rest = self._rest, None
            if block is None:
                self._context.track.take(self.state)
                block = self._upstream.pull(rows)
            if block is None:
                self._ended = True
                break
            done = self._cut(block, min(rows, block.rows))
            if done is not None:
                return done
        return None

    def _cut(self, block: Block, rows: int) -> Block | None:
        answers, used, self._error = self._predicate.apply(block.slice(0, rows))
        if not answers.all():
            if self._error is not None:
                let_go(self._error)
            self._ended, self._error = True, None
            self._upstream.close()
            answers = answers[: int(answers.argmin())]
        elif used < block.rows:
            self._rest = block.slice(used, block.rows)
        return block.slice(0, len(answers)) if len(answers) else None

    def state(self) -> Any:
        return {"input": self._upstream.state(), "seen": self._predicate.seen}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._predicate.seen = state["seen"]

    def close(self) -> None:
        self._rest = self._error = None
