"""What a started op may use of its run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from penstock.engine.cancel import Cancel
from penstock.engine.meter import Meter
from penstock.engine.readahead import ReadAhead
from penstock.engine.stage import Stage, start
from penstock.graph.plan import Node
from penstock.graph.running import Context, Pipeline
from penstock.graph.track import Track
from penstock.io.stores.stored import Stored
from penstock.kernels.bits import mix
from penstock.kernels.halves import Half, one_by_one
from penstock.memory.spill import Scratch

if TYPE_CHECKING:
    from penstock.engine.run import Run

NOTES = 10
"""No more notes than this are kept of an op: in an endless repetition there may be another one each time."""


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
        self.begun: list[Callable[[], None]] = []
        """How to end what the op has begun to start, for when it does not get to its end."""
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
            last = self._inputs[-1]
            last.close()  # an interrupt leaves it there, for the next time
            if self._inputs and self._inputs[-1] is last:  # else it has left by itself
                self._inputs.pop()
