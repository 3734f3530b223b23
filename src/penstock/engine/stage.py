"""A stage: one started op, with what it started above it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.engine.cancel import Cancel
from penstock.engine.meter import Meter
from penstock.engine.readahead import ReadAhead
from penstock.errors import ElementError, StoreError
from penstock.graph.plan import Node
from penstock.graph.running import Context, Input, Pipeline, Running
from penstock.graph.track import State, Track
from penstock.io.stores.stored import Stored
from penstock.kernels.bits import mix
from penstock.kernels.halves import Half, one_by_one
from penstock.memory.spill import Scratch

if TYPE_CHECKING:
    from penstock.engine.run import Run

Seam = Callable[["StageContext", Any], Running]

NOTES = 10
"""No more notes than this are kept of an op: in an endless repetition there may be another one each time."""


class Stage(Input):
    """Counts the rows, the time and the failures of one running op, and watches its blocks."""

    def __init__(self, context: StageContext, running: Running, meter: Meter) -> None:
        self._context = context
        self._running = running
        self._meter = meter
        self._closed = False
        self._restored: State | None = None
        self._begun = False
        self.started_by: StageContext | None = None
        self.random_access = context.node.op.traits.random_access

    def pull(self, rows: int) -> Block | None:
        self._context.cancel.check()
        meter = self._meter
        began = perf_counter()
        try:
            if not self._begun:
                self._begin(rows)
            block = self._running.pull(rows)
        except ElementError:
            meter.failed += 1
            self._context.track.passed(1)
            raise
        except StoreError:
            self._context.cancel.check()  # the end of the run ends reads that wait
            raise
        finally:
            took = perf_counter() - began
            meter.seconds += took
            self._context.spent_by_input(took)
        return self._count(block)

    def _count(self, block: Block | None) -> Block | None:
        if block is not None:
            self._meter.elements += block.rows
            self._meter.blocks += 1
            self._context.track.passed(block.rows)
            self._context.account.adopt(block)
        return block

    def adopt(self, block: Block) -> None:
        """Watch what was made of a block since it left the op."""
        self._context.account.adopt(block)

    def state(self) -> State:
        if self._restored is not None:
            return self._restored
        if self._closed:
            return {}  # nobody will pull from it again
        if self._running.exact or not self._begun:
            return {"at": self._running.state()}
        return self._context.track.here()

    def restore(self, state: State) -> None:
        self._restored = state  # the first pull does it: it may have to read

    def _begin(self, rows: int) -> None:
        """Put the op where the state says, if there is one; else this is its beginning."""
        self._begun = True
        state, self._restored = self._restored, None
        if state is not None:
            self._go_on(state, rows)
        elif not self._running.exact:
            self._context.track.stand(self._running.state())

    def _go_on(self, state: State, rows: int) -> None:
        """Put the op there, and drop the elements that it has handed on since."""
        running, track, left = self._running, self._context.track, state.get("skip", 0)
        if "ended" in state:
            self._running = Nothing(running)
            return
        if "at" in state:
            running.restore(state["at"])
            track.stand(state["at"])
        if left and running.replays:
            self._context.note(f"went through {left} elements again, to go on after them: {running.replays}")
        while left:
            self._context.cancel.check()
            try:
                block = running.pull(min(left, rows))
            except ElementError as error:
                error.__traceback__ = error.__cause__ = error.__context__ = None  # its frames hold blocks
                block, passed = None, 1
            else:
                if block is None:
                    break
                passed = block.rows
                rows = max(rows, min(2 * rows, self._context.rows_for(block.nbytes // passed)))
            left -= passed
            track.passed(passed)
            del block  # its memory is free for the next one

    def note(self, text: str) -> None:
        """Say something of the op in the report."""
        self._context.note(text)

    @property
    def size(self) -> int:
        return self._running.size  # type: ignore[attr-defined, no-any-return]

    def gather(self, index: NDArray[Any]) -> Block:
        self._context.cancel.check()
        try:
            block = self._running.gather(index)  # type: ignore[attr-defined]
        except ElementError:
            self._meter.failed += 1
            raise
        counted = self._count(block)
        assert counted is not None
        return counted

    def close(self) -> None:
        """Close the op and everything that it started."""
        if self._closed:
            return
        self._closed = True
        try:
            self._running.close()
        finally:
            self._context.close_inputs()
            if self.started_by is not None:
                self.started_by.leave(self)  # what a nested dataset has made goes with it


class Nothing(Running):
    """An op that has nothing more to give."""

    exact = True

    def __init__(self, ended: Running) -> None:
        self._ended = ended

    def pull(self, rows: int) -> Block | None:  # noqa: ARG002
        return None

    def state(self) -> Any:
        return None

    def close(self) -> None:
        self._ended.close()


class StageContext(Context):
    """What a started op may use of its run."""

    def __init__(
        self,
        run: Run,
        node: Node,
        *,
        epoch: int,
        cancel: Cancel,
        below: StageContext | None = None,
        nested_in: StageContext | None = None,
    ) -> None:
        self.run = run
        self.node = node
        self.epoch = epoch
        self.cancel = cancel
        self.ledger = run.ledger
        self.options = run.plan.options
        self._nested_in = nested_in
        # A seam's input runs on another thread, and its time is not the seam's waiting.
        self._below = None if below is None or below.node.op.seam else below
        self._inputs: list[Stage] = []
        self.track = Track()
        self.stacks = 1 if self._below is None else self._below.node.op.stacks
        if nested_in is None:
            self.label = run.labels[node.index]
            self.account = run.ledger.account(self.label)
            self.account.title = f"{self.label} at {node.op.site}"
            # Every stage owns room for a block, and for the one before it, which may still be in use.
            self.account.expect(2 * self.block_bytes)
            self.meter = run.meters.setdefault(self.label, Meter())
        else:
            self.label = f"{nested_in.label}/{node.op.called}"
            self.account = nested_in.account
            self.meter = Meter()
        self.where = f"{self.label} at {node.op.site}"

    @property
    def block_bytes(self) -> int:  # type: ignore[override]
        """About how many bytes one block should have now."""
        return self.run.block_bytes

    def input(self, which: int = 0, repetition: int | None = None, epoch: int | None = None) -> Stage:
        if epoch is None:
            epoch = self.epoch if repetition is None else mix(self.epoch, repetition)
        context = StageContext(
            self.run,
            self.node.inputs[which],
            epoch=epoch,
            cancel=self.cancel,
            below=self,
            nested_in=self._nested_in,
        )
        return self._start(context)

    def open(self, pipeline: Pipeline, number: int) -> Stage:
        context = StageContext(
            self.run,
            self.run.nested_plan(pipeline),
            epoch=mix(self.epoch, self.node.index, number),
            cancel=self.cancel,
            nested_in=self,
        )
        return self._start(context)

    def _start(self, context: StageContext) -> Stage:
        stage = start(context)
        stage.started_by = self
        self._inputs.append(stage)
        return stage

    def empty(self, shape: Any, dtype: Any) -> NDArray[Any]:
        return self.run.pool.empty(self.account, shape, dtype)

    def both(self, first: Half, second: Half) -> None:
        if self.node.op.seam:  # its blocks are worked on side by side already
            one_by_one(first, second)
        else:
            self.run.beside.both(first, second)

    def key(self, seed: int, *, explicit: bool, each_epoch: bool = True, index: int | None = None) -> int:
        run_seed = self.run.seed
        if explicit:
            own = mix(seed, run_seed or 0)
        elif run_seed is None:
            # A function may declare its dataset anew at every call: only the op that calls it stays the same.
            own = mix(seed) if self._nested_in is None else mix(self._outer_seed, self.node.index)
        else:
            place = self.node.index if index is None else index
            # A dataset that is in several places draws the same in each, as a cache of it needs.
            own = mix(run_seed, self.run.first_places.get(place, place) if self._nested_in is None else place)
        # Inside a nested dataset the epoch also tells which element opened it, so it always counts.
        if each_epoch or self._nested_in is not None:
            return mix(own, self.epoch)
        return own

    @property
    def _outer_seed(self) -> int:
        """The seed of the declared op that this one is opened inside of."""
        outer = self
        while outer._nested_in is not None:
            outer = outer._nested_in
        return outer.node.op.own_seed

    def label_of(self, index: int) -> str:
        return self.label if self._nested_in is not None else self.run.labels[index]

    def scratch(self) -> Scratch:
        return self.run.scratch()

    def note(self, text: str) -> None:
        if text not in self.meter.notes and len(self.meter.notes) < NOTES:
            self.meter.notes.append(text)

    def on_close(self, end: Callable[[], None]) -> Callable[[], None]:
        token = Cancel(self.cancel, end)
        if token.is_set():
            end()
        return token.set

    def read_ahead(self, stored: Stored) -> Stored:
        return ReadAhead(stored, self) if stored.slow else stored

    def spent_by_input(self, seconds: float) -> None:
        """Tell the op below how long it has waited for this one."""
        if self._below is not None:
            self._below.meter.waited += seconds

    def leave(self, *stages: Stage) -> None:
        """Do not close these together with this op: somebody else will."""
        for stage in stages:
            with suppress(ValueError):
                self._inputs.remove(stage)  # at one go: several threads may be opening and closing

    @property
    def inputs(self) -> tuple[Stage, ...]:
        """What this op has started."""
        return tuple(self._inputs)

    def close_inputs(self) -> None:
        """Close what this op has started, and has not closed itself."""
        while self._inputs:
            self._inputs.pop().close()


def start(context: StageContext) -> Stage:
    """Start the op of a context, or the seam that stands for it."""
    op = context.node.op
    seam = context.run.seams.get(op.seam)
    try:
        running = op.start(context) if seam is None else seam(context, op)
    except BaseException:
        context.close_inputs()  # there is no stage that would
        raise
    return Stage(context, running, context.meter)
