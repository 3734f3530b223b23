"""What is left of several readers' streams, for another number of readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ElementError
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.ops.parts.directed import Choices, Choosing, RunningDirected, common_spec
from penstock.ops.parts.dropped import let_go

AT_ONCE = 1 << 10
"""So many turns are planned at a time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Rejoined(Op):
    """An element of each input in turn; one that has ended is passed over."""

    name = "rejoined"

    def start(self, context: Context) -> Running:
        count = len(self.inputs)
        return RunningDirected(self, context, range(count), InTurn(count), stop=False)

    def find_spec(self) -> Spec | None:
        return common_spec(self, [above.spec for above in self.inputs])

    def find_cardinality(self) -> int:
        return UNKNOWN


class InTurn(Choosing):
    """Each number in turn."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._next = 0

    def next(self, rows: int) -> Choices | None:  # noqa: ARG002
        first, self._next = self._next, self._next + AT_ONCE
        return np.arange(first, self._next) % self._count

    def state(self) -> Any:
        return {"next": self._next}

    def restore(self, state: Any) -> None:
        self._next = state["next"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Part(Op):
    """Of a stream, every `step`-th element, the first after `offset` of them.

    An element that fails is raised where its turn is, and nowhere else.
    """

    step: int
    offset: int

    name = "part"

    def start(self, context: Context) -> Running:
        return RunningPart(self, context)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        return UNKNOWN


class RunningPart(Running):
    """Reads all, and gathers its own."""

    exact = True

    def __init__(self, op: Part, context: Context) -> None:
        self._empty = context.empty
        self._upstream = context.input()
        self._step = op.step
        self._offset = op.offset

    def pull(self, rows: int) -> Block | None:
        while True:
            try:
                block = self._upstream.pull(self._offset + 1 + (rows - 1) * self._step)
            except ElementError as error:
                self._offset -= 1
                if self._offset < 0:
                    self._offset += self._step
                    raise
                let_go(error)
                continue
            if block is None:
                return None
            own = np.arange(self._offset, block.rows, self._step)
            self._offset += len(own) * self._step - block.rows
            if len(own):
                return block if len(own) == block.rows else block.take(own, self._empty)

    def state(self) -> Any:
        return {"input": self._upstream.state(), "offset": self._offset}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._offset = state["offset"]
