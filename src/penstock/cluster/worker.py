"""What a Ray actor does: the calls of some maps with the rows of a chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.cluster.line import Begun, Passing
from penstock.cluster.travel import Lacking, Parcel, Shipped, loaded, parcel_of
from penstock.engine.endings import inside
from penstock.engine.processes.travel import Sent, as_sent
from penstock.engine.run import Run
from penstock.errors import ElementError
from penstock.graph.op import Op
from penstock.graph.passes import block_bytes_for
from penstock.graph.plan import Node, Plan
from penstock.graph.running import Context, Running
from penstock.memory.budget import resolve_budget
from penstock.ops.parts.assembly import joined
from penstock.options import Options

BELOW = -1
"""The number of the op below all others."""


@dataclass(frozen=True)
class Job:
    """What all chunks of a run have in common."""

    declared: Node
    """The whole pipeline, each op but a name: errors call ops as they are called there."""
    line: tuple[tuple[int, Op], ...]
    """The maps in order, each with its number in the pipeline."""
    above: int
    """The number of the op above them."""
    options: Options
    seed: int | None
    epoch: int


@dataclass(frozen=True)
class Made:
    """What became of a chunk, beside the rows themselves."""

    nbytes: int
    seconds: float
    passed: tuple[int, ...]
    """How many of its rows have come to each map."""
    broken: Sent | None = None
    """The error that ends the run, if one does."""


class Worker:
    """The actor."""

    def __init__(self) -> None:
        self._job: Job | None = None

    def load(self, shipped: Shipped) -> Lacking | None:
        """Take the job, once; what is lacking, if it cannot be loaded here."""
        found = loaded(shipped)
        if isinstance(found, Lacking):
            return found
        self._job = found
        return None

    def work(
        self, chunk: Parcel, first: int, last: int, seen: Sequence[int]
    ) -> tuple[Made, list[Parcel | Sent]]:
        """What the maps make of the rows from `first` up to `last`: blocks and errors in order.

        `seen` says, for each map, how many elements have come to it before.
        """
        assert self._job is not None
        began = perf_counter()
        try:
            pieces, passed = _worked(self._job, chunk.copy().slice(first, last), seen)
            sent = [piece if isinstance(piece, Sent) else parcel_of(piece) for piece in pieces]
        except Exception as error:  # raised where the run is
            return Made(0, perf_counter() - began, (), as_sent(error)), []
        nbytes = sum(piece.packed.nbytes for piece in sent if isinstance(piece, Parcel))
        return Made(nbytes, perf_counter() - began, passed), sent


def _worked(job: Job, block: Block, seen: Sequence[int]) -> tuple[list[Block | Sent], tuple[int, ...]]:
    node = Node(Given(block=block), (), job.above)
    for (index, op), first in zip(job.line, seen, strict=True):
        node = Node(Begun(op=op, seen=first, site=op.site), (node,), index)
    root = Node(Within(epoch=job.epoch), (node,), BELOW)
    budget = resolve_budget(None, job.options)
    plan = Plan(job.declared, root, job.options, block_bytes_for(budget.total, len(job.line) + 2))
    run = Run(plan, budget, seed=job.seed, epoch=0)
    try:
        pieces = _drained(run, block.rows)
        above = [job.above, *[index for index, _ in job.line[:-1]]]
        return pieces, tuple(run.meters[run.labels[index]].elements for index in above)
    finally:
        run.close()


def _drained(run: Run, rows: int) -> list[Block | Sent]:
    """All that comes, with what lies between two errors in one block."""
    made: list[Block | Sent] = []
    parts: list[Block] = []

    def join() -> None:
        if parts:
            made.append(joined(parts, np.empty))
            parts.clear()

    with inside():
        while True:
            try:
                block = run.root.pull(rows)
            except ElementError as error:
                join()
                made.append(as_sent(error))
                continue
            if block is None:
                join()
                return made
            parts.append(block)


@dataclass(frozen=True, eq=False, kw_only=True)
class Given(Op):
    """The rows of a chunk, in the place of the op that they came from."""

    block: Block = field(repr=False)

    name = "given"

    def start(self, context: Context) -> Running:  # noqa: ARG002
        return RunningGiven(self.block)

    def find_spec(self) -> Spec | None:
        return None

    def find_cardinality(self) -> int:
        return self.block.rows


class RunningGiven(Running):
    """Hands out slices."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._at = 0

    def pull(self, rows: int) -> Block | None:
        first, last = self._at, min(self._at + rows, self._block.rows)
        self._at = last
        return self._block.slice(first, last) if last > first else None

    def state(self) -> Any:
        return None


@dataclass(frozen=True, eq=False, kw_only=True)
class Within(Op):
    """Runs what is above it in a given epoch: that of the run that the chunk belongs to."""

    epoch: int

    name = "within"

    def start(self, context: Context) -> Running:
        return Passing(context, self.epoch)

    def find_spec(self) -> Spec | None:
        return None

    def find_cardinality(self) -> int:
        return self.inputs[0].cardinality


def job_of(context: Any, declared: Node, line: Sequence[tuple[int, Op]], above: int) -> Job:
    """The job of a run, as its `distribute` sees it."""
    root = Node(Within(epoch=0), (declared,), BELOW)
    return Job(root, tuple(line), above, context.options, context.run.seed, context.epoch)
