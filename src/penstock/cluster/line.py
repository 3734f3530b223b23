"""Which part of a pipeline goes to other machines: the maps right before `distribute`.

What is above them stays where the run is, and its rows travel, with their element numbers. So every
pipeline can be distributed, sources need not be there for all machines, and random numbers stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.graph.op import Op
from penstock.graph.running import Context, Running


def line_of(op: Op) -> tuple[Op, list[Op]]:
    """The op that stays, and the maps below it that may go elsewhere, the first to be called first."""
    line: list[Op] = []
    while op.traits.fuses:
        line.append(op)
        op = op.inputs[0]
    return op, line[::-1]


def one_by_one(op: Op) -> Op:
    """A map by itself, for one worker: it makes a call at a time, as there are several workers."""
    executor = "jit" if getattr(op, "executor", "") == "jit" else "auto"
    return op.changed(inputs=(), num_parallel_calls=None, deterministic=None, executor=executor)


@dataclass(frozen=True, eq=False, kw_only=True)
class Away(Op):
    """The place of a map whose calls are made elsewhere.

    Ops are told apart by their numbers, which decide on random numbers: so each map keeps its place.
    """

    op: Op
    """The map, over nothing."""

    parted = "evenly"

    def find_spec(self) -> Spec | None:
        return self.op.changed(inputs=self.inputs).spec

    def find_cardinality(self) -> int:
        return self.inputs[0].cardinality


@dataclass(frozen=True, eq=False, kw_only=True)
class Mapped(Away):
    """Any of them but the last: rows pass as they are."""

    name = "mapped"

    @property
    def called(self) -> str:
        return self.op.called

    def start(self, context: Context) -> Running:
        return Passing(context)

    def describe(self) -> str:
        return self.op.describe()


class Passing(Running):
    """Hands on what comes."""

    exact = True

    def __init__(self, context: Context, epoch: int | None = None) -> None:
        self._upstream = context.input(epoch=epoch)

    def pull(self, rows: int) -> Block | None:
        return self._upstream.pull(rows)

    def state(self) -> Any:
        return self._upstream.state()

    def restore(self, state: Any) -> None:
        self._upstream.restore(state)


@dataclass(frozen=True, eq=False, kw_only=True)
class Begun(Op):
    """A map that begins in the middle: its first element has the number `seen`.

    The op above it is at its beginning, and `skip` elements of it are passed over.
    """

    op: Op
    seen: int
    skip: int = 0

    name = "begun"

    @property
    def called(self) -> str:
        return self.op.called

    def describe(self) -> str:
        return self.op.describe()

    def start(self, context: Context) -> Running:
        running = self.op.start(context)
        running.restore({"input": {"skip": self.skip} if self.skip else {}, "seen": self.seen})
        return running

    def find_spec(self) -> Spec | None:
        return self.op.changed(inputs=self.inputs).spec

    def find_cardinality(self) -> int:
        above = self.inputs[0].cardinality
        return above if above < 0 else max(above - self.skip, 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Elsewhere(Op):
    """Stands for an op that runs on another machine: what is left of it is what it is called."""

    def start(self, context: Context) -> Running:
        raise TypeError(f"{self.called} runs elsewhere ({context.label})")

    def find_spec(self) -> Spec | None:
        return None

    def find_cardinality(self) -> int:
        return self.inputs[0].cardinality
