"""`filter`: the elements that a function says yes to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ElementError
from penstock.functions.predicate import Predicate
from penstock.graph import checks
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.ops.parts.located import located


@dataclass(frozen=True, eq=False, kw_only=True)
class Filter(Op):
    """The elements for which `predicate` is true."""

    predicate: Callable[..., Any]

    name = "filter"
    parted = "each"

    def __post_init__(self) -> None:
        checks.function(self.predicate, "filter(predicate=)", self.inputs[0])

    def start(self, context: Context) -> Running:
        return RunningFilter(self, context)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        return UNKNOWN


class RunningFilter(Running):
    """Gathers the rows with a yes; reads more at a time where few of them pass."""

    def __init__(self, op: Filter, context: Context) -> None:
        self._op = op
        self._context = context
        self._upstream = context.input()
        self._predicate = Predicate(op.predicate, op, context)
        self._ready: Block | None = None
        self._error: ElementError | None = None
        self._rest: Block | None = None
        self._row_bytes = 0
        self._seen = 0
        self._passed = 0

    def pull(self, rows: int) -> Block | None:
        while True:
            if self._ready is not None:
                return self._deliver(self._ready, rows)
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            block, self._rest = self._rest, None
            if block is None:
                self._context.track.take(self.state)
                block = self._upstream.pull(self._needed(rows))
            if block is None:
                return None
            self._sift(block)

    def _needed(self, rows: int) -> int:
        """The rows to read so that about `rows` of them pass, but no more than a block."""
        if self._seen == 0:
            return rows
        wanted = rows * self._seen // self._passed if self._passed else max(rows, self._seen)
        return max(rows, min(wanted, self._context.rows_for(self._row_bytes)))

    def _sift(self, block: Block) -> None:
        answers, used, self._error = self._predicate.apply(block)
        if self._error is not None:
            located(self._error, block, used - 1, self._op)
        chosen = np.flatnonzero(answers)
        self._row_bytes = block.nbytes // block.rows
        self._seen += used
        self._passed += len(chosen)
        if used < block.rows:
            self._rest = block.slice(used, block.rows)
        if len(chosen) == block.rows:
            self._ready = block
        elif len(chosen):
            self._ready = block.take(chosen, self._context.empty)

    def _deliver(self, ready: Block, rows: int) -> Block:
        self._ready = ready.slice(rows, ready.rows) if rows < ready.rows else None
        return ready.slice(0, min(rows, ready.rows))

    def state(self) -> Any:
        return {"input": self._upstream.state(), "seen": self._predicate.seen}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._predicate.seen = state["seen"]

    def close(self) -> None:
        self._ready = self._rest = self._error = None
