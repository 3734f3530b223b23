"""One live iteration of a plan: the only thing that owns memory, threads and files."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from time import perf_counter

from penstock.blocks.block import Block
from penstock.engine.cancel import Cancel
from penstock.engine.demand import Demand
from penstock.engine.endings import endings, inside, works_for
from penstock.engine.lent import LentWatch, holders
from penstock.engine.meter import Meter
from penstock.engine.parallel import Parallel
from penstock.engine.prefetch import Prefetch
from penstock.engine.stage import Seam, Stage, StageContext, start
from penstock.errors import ClosedError, PenstockError
from penstock.graph.passes import plan_of
from penstock.graph.plan import Node, Plan
from penstock.graph.running import Pipeline
from penstock.kernels.bits import mix
from penstock.memory.ledger import Ledger
from penstock.memory.pool import Pool, return_free_memory
from penstock.memory.spill import Scratch
from penstock.report.report import OpReport, Report

TRIM_ABOVE = 4 << 20
"""A run that has held more than this asks the C library for its free pages at the end."""
PATIENCE = 1.0
"""Seconds that closing waits for another thread to leave the run; that thread then takes it apart."""


class AskedFromInside(PenstockError):  # noqa: N818
    """A function asked the run that is just calling it; the run goes on."""


class Run:
    """Owns everything that one iteration holds; `close` gives all of it back.

    One lock is held by whoever is inside the ops, to pull or to take them apart. Who closes the run while
    another is inside, or an outer call of the same thread, leaves the rest to that one.
    """

    seams: Mapping[str, Seam] = {"parallel": Parallel, "prefetch": Prefetch}

    def __init__(self, plan: Plan, budget: int, *, seed: int | None, epoch: int) -> None:
        self.plan = plan
        self.seed = seed
        self.labels = plan.labels()
        self.ledger = Ledger(budget)
        self.pool = Pool(self.ledger)
        self.meters: dict[str, Meter] = {}
        self.cancel = Cancel()
        self.closed = False
        """Whether the run is to end: no block comes any more."""
        self._apart = False
        self._scratch: Scratch | None = None
        self._pulling = threading.Lock()
        self._scratch_lock = threading.Lock()
        context = StageContext(self, plan.root, epoch=mix(epoch), cancel=self.cancel)
        with inside:
            self.root: Stage = start(context)
        self._demand = Demand(context.rows_for, plan.options.block_rows)
        self._lent = LentWatch(self.ledger)
        self._began = perf_counter()
        self._seconds = 0.0

    def next_block(self) -> Block | None:
        """The next block for the user, on the ledger as lent."""
        with inside:
            if not self._pulling.acquire(blocking=False):
                self.cancel.check()
                raise AskedFromInside(
                    "An iteration was asked for its next element by a function that it is just calling. "
                    "Start another one there: ds.iterate()."
                )
            try:
                self.cancel.check()
                block = self._demand.pull(self.root)
                if block is not None:
                    self.ledger.lend(block)
                    self._lent.look()
            finally:
                self._pulling.release()
                if self.closed:
                    self._take_apart()
        return block

    def scratch(self) -> Scratch:
        """The run's scratch file, made when it is first needed."""
        with self._scratch_lock:
            if self._scratch is None:
                if self._apart:
                    raise ClosedError("This iteration was closed.")
                self._scratch = Scratch(self.plan.options.scratch)
            return self._scratch

    def nested_plan(self, pipeline: Pipeline) -> Node:
        """The plan of a dataset that a user's function returned."""
        return plan_of(pipeline.op, self.plan.options).root

    def report(self) -> Report:
        """The run so far, or as it was at its end, in numbers."""
        with inside:
            return self._report()

    def _report(self) -> Report:
        self.ledger.settle()
        ops = []
        for node in self.plan.root.walk():
            label = self.labels[node.index]
            meter = self.meters.get(label, Meter())
            account = self.ledger.account(label)
            ops.append(
                OpReport(
                    name=label,
                    declared=node.op.describe(),
                    elements=meter.elements,
                    failed=meter.failed,
                    held=account.held,
                    peak=account.peak,
                    seconds=max(meter.seconds - meter.waited, 0.0),
                    notes=tuple(meter.notes),
                )
            )
        return Report(
            budget=self.ledger.budget,
            held=self.ledger.held,
            peak=self.ledger.peak,
            seconds=self._seconds if self.closed else perf_counter() - self._began,
            lent_elements=self.ledger.lent_elements,
            lent_bytes=self.ledger.lent,
            holders=tuple(holders(self.ledger)),
            idle=self.ledger.account("pool").held,
            idle_peak=self.ledger.account("pool").peak,
            ops=tuple(ops),
            changes=self.plan.changes,
        )

    def close(self) -> None:
        """End the run: no thread, file or byte of it is left. May be called from any thread, often.

        That is so when it returns, unless the run is just calling a function that does not come back
        within a second, or was closed by a function that it is calling: then as soon as that returns.
        """
        patience = 0.0 if inside else PATIENCE
        with inside:
            if not self.closed:
                self._seconds = perf_counter() - self._began
                self.closed = True
            self.cancel.set()
            if works_for(self):
                endings.later(self._take_apart)
            else:
                self._take_apart(patience)

    def drop(self) -> None:
        """Close the run that nobody can pull from any more, at a moment that nobody chose."""
        endings.dropped(self.close)

    def _take_apart(self, patience: float = 0.0) -> None:
        """Give everything back, unless somebody is inside: they will when they leave."""
        if not self._pulling.acquire(timeout=patience):
            return
        try:
            if not self._apart:
                self._apart = True
                self._give_back()
        finally:
            self._pulling.release()

    def _give_back(self) -> None:
        try:
            self.root.close()
        finally:
            with self._scratch_lock:
                if self._scratch is not None:
                    self._scratch.close()
            self.pool.close()
            if self.ledger.peak + self.ledger.lent_peak > TRIM_ABOVE:
                return_free_memory()
