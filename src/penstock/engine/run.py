"""One live iteration of a plan: the only thing that owns memory, threads and files."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from time import perf_counter
from typing import Any
from weakref import WeakSet

from penstock.blocks.block import Block
from penstock.engine.beside import Beside
from penstock.engine.branches import SideBySide
from penstock.engine.cancel import Cancel
from penstock.engine.context import StageContext
from penstock.engine.demand import MOST, Demand
from penstock.engine.endings import Ends, endings, inside, is_inside, works_for
from penstock.engine.lent import LentWatch, holders
from penstock.engine.meter import Meter
from penstock.engine.parallel import Parallel
from penstock.engine.prefetch import Prefetch
from penstock.engine.stage import Seam, Stage, start
from penstock.engine.turn import Turn
from penstock.errors import ClosedError, PenstockError
from penstock.graph.passes import block_bytes_for, plan_of
from penstock.graph.plan import Node, Plan
from penstock.graph.running import Pipeline
from penstock.graph.track import Pace, State, advanced
from penstock.kernels.bits import mix
from penstock.memory.ledger import Ledger
from penstock.memory.pool import Pool, return_free_memory
from penstock.memory.shared import Budget
from penstock.memory.spill import Scratch
from penstock.report.report import OpReport, Report
from penstock.state.saved import States

TRIM_ABOVE = 4 << 20
"""A run that has held more than this asks the C library for its free pages at the end."""
ASKED = (
    "An iteration was asked for its next element by a function that it is just calling. "
    "Start another one there: ds.iterate()."
)
PATIENCE = 1.0
"""Seconds that closing waits for another thread to leave the run; that thread then takes it apart."""


class AskedFromInside(PenstockError):  # noqa: N818
    """A function asked the run that is just calling it; the run goes on."""


living: WeakSet[Run] = WeakSet()
"""All runs that somebody has."""


class Run:
    """Owns everything that one iteration holds; `close` gives all of it back.

    One lock is held by whoever is inside the ops, to pull or to take them apart. Who closes the run while
    another is inside, or an outer call of the same thread, leaves the rest to that one.

    Ctrl-C may come between any two steps of the main thread. So locks are taken by a bare `with`, which
    nothing interrupts, and what is left to be ended is known at any moment: the next `close` goes on with it.
    """

    seams: Mapping[str, Seam] = {"branches": SideBySide, "parallel": Parallel, "prefetch": Prefetch}

    def __init__(
        self,
        plan: Plan,
        budget: int | Budget,
        *,
        seed: int | None,
        epoch: int,
        state: State | None = None,
        elements: int = 0,
        head: dict[str, Any] | None = None,
    ) -> None:
        """With a `state`, so many `elements` of the pass have been handed out before.

        `head` is what all states of this run have in common, where it is no plain pipeline.
        """
        self._process = os.getpid()
        self.plan = plan
        self.seed = seed
        self.epoch = epoch
        self.labels = plan.labels()
        self.first_places = plan.first_places()
        self.began = elements
        """How many elements of the pass had been handed out before it."""
        self._stages = sum(1 for _ in plan.root.walk())
        self.meters: dict[str, Meter] = {}
        self.turn = Turn()
        """One op at a time tries another number of calls."""
        self.cancel = Cancel()
        self.closed = False
        """Whether the run is to end: no block comes any more."""
        self._scratch: Scratch | None = None
        self._scratch_lock = threading.Lock()
        self._pulling = threading.RLock()
        self._at_work = False
        """Whether whoever has the lock is inside the ops."""
        self.standing = threading.RLock()
        """Held by whoever changes where the run stands, or asks: they may be different threads."""
        self._stood: tuple[State | None, int] = state, elements
        """A state of the ops, and after how many elements they stood there: always of one moment."""
        self._pace = Pace()
        self._ends = Ends()
        try:
            self.ledger = Ledger(budget)
            self._ends.add(self._leave)
            self.pool = Pool(self.ledger)
            self._ends.add(self.pool.close)
            self._ends.add(self._close_scratch)
            self.beside = Beside(self)
            self._ends.add(self.beside.close)
            context = StageContext(self, plan.root, epoch=mix(epoch), cancel=self.cancel)
            with inside():
                self.root: Stage = start(context)
            self._ends.add(self.root.close)
            if state is not None:
                self.root.restore(state)
            self.states = States(plan, seed, epoch, head)
            # What a prefetch has ready is handed on as it is: it has been made in a size that suits.
            whole = MOST if plan.root.op.seam == "prefetch" else None
            self._demand = Demand(context.rows_for, plan.options.block_rows or whole, context.meter)
            self._lent = LentWatch(self.ledger)
            self._began = perf_counter()
            self._seconds = 0.0
            living.add(self)
        except BaseException:
            self._ends.make()  # there is no run that somebody could close
            raise

    @property
    def block_bytes(self) -> int:
        """About how many bytes one block should have: fewer while more runs share the budget."""
        shared = self.ledger.shared
        if shared.runs < 2:
            return self.plan.block_bytes
        return min(self.plan.block_bytes, block_bytes_for(shared.share, self._stages))

    @property
    def is_ours(self) -> bool:
        """Whether it is of this process: in a forked child, its threads and its files are the other's."""
        return os.getpid() == self._process

    def next_block(self, elements: int | None = None) -> Block | None:
        """The next block for the user, on the ledger as lent.

        So many `elements` of the pass have been handed out by now; None where nobody asks for a state.
        """
        try:
            with inside():
                return self._next_block(elements)
        finally:
            endings.left()

    def _next_block(self, elements: int | None) -> Block | None:
        if works_for(self):
            raise AskedFromInside(ASKED)
        try:
            with self._pulling:
                self.cancel.check()
                if self._at_work:
                    raise AskedFromInside(ASKED)
                try:
                    self._at_work = True
                    return self._pull(elements)
                finally:
                    self._at_work = False
        finally:
            if self.closed:
                self._take_apart()

    def _pull(self, elements: int | None) -> Block | None:
        if elements is not None:
            self._mark(elements)
        began = perf_counter()
        block = self._demand.pull(self.root)
        self.turn.asked(began, perf_counter())
        if block is not None:
            if block.settle():
                self.root.adopt(block)
            self.ledger.lend(block)
            self._lent.look()
        return block

    def _mark(self, elements: int) -> None:
        """Note where the ops stand after so many elements, if it is time; at the beginning it is."""
        with self.standing:
            state, before = self._stood
            if state is None:
                self._stood = self.root.state(), elements
            elif elements > before and self._pace.due:
                self._stood = self._pace.taken(self.root.state), elements

    def ended(self, elements: int) -> None:
        """There are no more elements than so many: who goes on from here gets none."""
        with self.standing:
            self._stood = {"ended": True}, elements

    def where(self, elements: int) -> tuple[State, int]:
        """The state after so many elements of the pass, and their number."""
        with self.standing:
            if self._stood[0] is None:
                self._mark(elements)
            state, before = self._stood
            return advanced(state, elements - before), elements

    def scratch(self) -> Scratch:
        """The run's scratch file, made when it is first needed."""
        with self._scratch_lock:
            if self._scratch is None:
                if self._ends.begun:
                    raise ClosedError("This iteration was closed.")
                self._scratch = Scratch(self.plan.options.scratch)
            return self._scratch

    def nested_plan(self, pipeline: Pipeline) -> Node:
        """The plan of a dataset that a user's function returned."""
        return plan_of(pipeline.op, self.plan.options).root

    def report(self) -> Report:
        """The run so far, or as it was at its end, in numbers."""
        with inside():
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
                    chosen=tuple(meter.chosen.values()),
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
        if not self.is_ours:  # its locks may be held by nobody, and what is in its scratch file is needed
            self.closed = True
            return
        patience = 0.0 if is_inside() else PATIENCE
        with inside():
            if not self.closed:
                self._seconds = perf_counter() - self._began
                self.closed = True
            self.cancel.set()
            if works_for(self):
                endings.later(self._take_apart)
            else:
                self._take_apart(patience)
        endings.left()

    def drop(self) -> None:
        """Close the run that nobody can pull from any more, at a moment that nobody chose."""
        endings.dropped(self.close)

    def _take_apart(self, patience: float = 0.0) -> None:
        """Give everything back, unless somebody is inside: they will when they leave."""
        if not self._pulling.acquire(timeout=patience):
            return
        try:
            if not self._at_work:
                try:
                    self._at_work = True
                    self._ends.make()
                finally:
                    self._at_work = False
        finally:
            self._pulling.release()

    def _close_scratch(self) -> None:
        with self._scratch_lock:
            if self._scratch is not None:
                self._scratch.close()

    def _leave(self) -> None:
        self.ledger.leave()
        if self.ledger.peak + self.ledger.lent_peak > TRIM_ABOVE:
            return_free_memory()
