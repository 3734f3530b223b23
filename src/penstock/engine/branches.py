"""The seam of an op that reads several datasets at once: threads that open and read them ahead.

Each dataset has a queue of its own, so the op takes rows in the same order as without threads. A thread
works on one dataset at a time, and on the one that is needed next; who waits for a dataset that no thread
is at works on it itself.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from functools import partial
from time import perf_counter
from typing import Any, Protocol

from penstock.blocks.block import Block
from penstock.engine.aside import Aside, end_all
from penstock.engine.branch import Branch
from penstock.engine.cancel import Cancel, Cancelled
from penstock.engine.context import StageContext
from penstock.engine.tuner import Calls
from penstock.errors import BudgetError, ElementError
from penstock.graph.branching import Branches, Branching, Opening
from penstock.graph.op import AUTOTUNE
from penstock.graph.running import Context, Running
from penstock.memory.sizes import show_bytes

PINNED = 4
"""Datasets are opened ahead while the arrays of all that are open take less than one part in so many."""
NONE_AHEAD = "opens no dataset ahead, to stay in the budget"


class BranchingOp(Protocol):
    """What the seam reads of its op."""

    @property
    def num_parallel_calls(self) -> int | None:
        """How many datasets to read at once, or `AUTOTUNE`."""

    @property
    def deterministic(self) -> bool | None:
        """False where rows may come in any order."""

    @property
    def open_at_once(self) -> int:
        """How many datasets the op reads in turn."""

    def start(self, context: Context) -> Running:
        """The op at work."""


class SideBySide(Running, Branches):
    """Opens datasets before they are asked for, and reads ahead in all that are open."""

    def __init__(self, context: StageContext, op: BranchingOp) -> None:
        self._context = context
        self._lock = threading.RLock()  # in each `with`, and not the condition: decision 0007
        self._changed = threading.Condition(self._lock)
        self.loose = op.deterministic is False
        self._stop = context.cancel = Cancel(context.cancel, self._wake)
        running = op.start(context)
        assert isinstance(running, Branching)
        self._op = running
        running.branches = self
        asked = op.num_parallel_calls
        self._asked = op.open_at_once if asked is None or asked == AUTOTUNE else asked
        self._ahead = min(self._asked, op.open_at_once)
        self._tuned: Calls | None = None
        if asked == AUTOTUNE:
            self._tuned = Calls(context.run.turn, context.meter, self._asked, self._asked)
        self._coming: deque[Branch] = deque()
        self._open: deque[Branch] = deque()  # the one that was pulled from longest ago first
        self._beginning = False  # whether somebody is just taking an element in
        self._ended = False  # whether there are no more elements
        self._idle = 0
        self._largest = 0  # the bytes of the largest block of all of them
        self._row_bytes = 0  # and of the largest row
        self._asides: list[Aside] = []

    @property
    def _calls(self) -> int:
        """How many datasets are worked on at once."""
        return self._asked if self._tuned is None else self._tuned.now

    def pull(self, rows: int) -> Block | None:
        began = perf_counter()
        block = self._op.pull(rows)
        tuned = self._tuned
        if tuned is not None and block is not None and tuned.pulled(began, perf_counter(), block.rows):
            self._wake()
        return block

    def state(self) -> Any:
        return self._op.state()

    def restore(self, state: Any) -> None:
        self._op.restore(state)

    # What the op asks for.

    def next(self) -> Running | None:
        with self._lock:
            while not self._coming and not self._ended:
                self._stop.check()
                if not self._beginning:
                    self._beginning = True
                    self._unlocked(self._take_in)
                else:
                    self._wait()
            if not self._coming:
                return None
            branch = self._coming.popleft()
            self._open.append(branch)
            branch.wanted = True
            self._call_for_help()
            while branch.source is None and branch.failed is None:
                self._work_or_wait(branch)
            if branch.failed is not None:
                self._open.remove(branch)
                error, branch.failed = branch.failed, None
                try:
                    raise error
                finally:
                    del error, branch
            return branch

    def waiting(self) -> Sequence[Opening]:
        with self._lock:
            return [branch.opening for branch in self._coming if branch.opening is not None]

    def ready(self, branch: Running) -> int:
        assert isinstance(branch, Branch)
        return branch.ready

    def wait(self, branches: Sequence[Running], *, more: bool) -> None:
        with self._lock:
            self._call_for_help()
            while not any(map(self.ready, branches)) and not (more and self.has_next):
                self._stop.check()
                due = [*self._open, *([self._coming[0]] if more and self._coming else [])]
                idle = [branch for branch in due if not branch.busy and not branch.over]
                if more and not (self._coming or self._beginning or self._ended):
                    self._beginning = True
                    self._unlocked(self._take_in)
                else:
                    if idle and not any(branch.busy for branch in due):
                        idle[0].wanted = True  # by a thread: who reads a slow one itself misses others
                        self._changed.notify_all()
                    self._wait()

    @property
    def has_next(self) -> bool:  # type: ignore[override]
        if not self._coming:
            return self._ended  # and that is to be learnt
        head = self._coming[0]
        return head.source is not None or head.failed is not None or head.postponed

    def take(self, branch: Branch, rows: int) -> Block | BaseException | None:
        """The next of a dataset: a block, an error, or None at its end."""
        with self._lock:
            self._open.remove(branch)
            self._open.append(branch)
            branch.wanted = not branch.queue
            self._call_for_help()
            while not branch.queue:
                self._work_or_wait(branch)
            return branch.taken(rows)

    def end(self, branch: Branch) -> None:
        """Nothing more is wanted of a dataset."""
        with self._lock:
            branch.closed = True
            if branch in self._open:
                self._open.remove(branch)
            branch.queue.clear()
            if branch.busy:
                return  # who is at it closes it
        branch.close_source()

    # What whoever has time does, with the lock held unless they say otherwise.

    def _work_or_wait(self, branch: Branch) -> None:
        self._stop.check()
        if branch.busy:
            self._wait()
        else:
            branch.busy = True
            self._unlocked(partial(self._step, branch))

    def _wait(self) -> None:
        began = perf_counter()
        self._changed.wait()
        self._context.meter.waited += perf_counter() - began

    def _unlocked(self, work: Any) -> None:
        self._changed.release()
        try:
            work()
        finally:
            self._changed.acquire()

    def _call_for_help(self) -> None:
        """See to it that a thread is there for what can be done ahead."""
        if self._idle:
            self._changed.notify_all()
        elif len(self._asides) < self._calls:
            name = f"penstock-{self._context.label}"
            self._asides.append(Aside(self._context.run, name, partial(self._help, len(self._asides))))

    def _help(self, number: int) -> None:
        """What the thread of that number does until the end."""
        while True:
            with self._lock:
                work = self._choose(number)
                while work is None:
                    self._stop.check()
                    self._idle += 1
                    self._changed.wait()
                    self._idle -= 1
                    work = self._choose(number)
                self._call_for_help()  # there may be more to do
            began = perf_counter()
            work()
            self._context.meter.seconds += perf_counter() - began

    def _choose(self, number: int) -> Any:
        """What is to be done next: the first dataset that has nothing ready, a new one, one with room."""
        self._stop.check()
        if number >= self._calls:
            return None
        for least in (True, False):
            for branches in (self._open, self._coming):
                for branch in branches:
                    if branch.may_go_on and bool(branch.queue) is not least and self._claim(branch):
                        branch.busy = True
                        return partial(self._step, branch)
            if not self._beginning and not self._ended and len(self._coming) < self._ahead:
                self._beginning = True
                return self._take_in
        return None

    def _claim(self, branch: Branch) -> bool:
        """Whether there is room for one block more of a dataset, or somebody cannot do without it."""
        ledger, size = self._context.ledger, branch.largest or self._largest
        if branch.untouched and not branch.wanted and self._context.account.pinned > ledger.budget // PINNED:
            self._context.note(NONE_AHEAD)
            return False  # it may make arrays of its own with the first row
        if branch.queue and branch.ready_bytes + size > self._context.block_bytes:
            return False
        # Who pulls may have to read one itself, and to join two; the op below may be about to stack them.
        stack = self._context.stacks * self._row_bytes if self._context.stacks > 1 else 0
        spare = 2 * self._largest + stack
        if ledger.room(self._context.account) >= size + spare and ledger.claim(self._context.account, size):
            branch.claimed = size
            return True
        if branch.wanted:
            return True
        self._context.note("reads fewer datasets ahead than it was asked for, to stay in the budget")
        return False

    # Without the lock.

    def _take_in(self) -> None:
        """Take in the next element."""
        branch, over = None, False
        try:
            opening = self._op.begin()
            over = opening is None
            if opening is not None:
                branch = Branch(self, opening)
        except Cancelled:
            raise
        except BaseException as error:  # raised when its turn has come
            branch, over = Branch(self, None, error), not isinstance(error, ElementError)
        finally:
            with self._lock:
                self._beginning = False
                self._ended |= over
                if branch is not None:
                    self._coming.append(branch)
                self._changed.notify_all()
            branch = None  # an error keeps this frame, which must not keep the error

    def _step(self, branch: Branch) -> None:
        """Open a dataset, or read one block of it."""
        item: Block | BaseException | None = None
        opening, wanted = branch.source is None, branch.wanted
        try:
            if opening:
                self._open_now(branch, wanted=wanted)
            else:
                item = branch.read()
        except Cancelled:
            raise
        except BaseException as error:
            item = error
        finally:
            self._context.ledger.unclaim(branch.claimed)
            branch.claimed = 0
        # Once others have been closed there may be room, and if not, that is the time to raise it.
        later = isinstance(item, BudgetError) and (opening or branch.untouched)
        if later and wanted:
            later = self._give_way()
        if later:
            branch.postpone()
        with self._lock:
            if later:
                self._context.note(NONE_AHEAD)
                self._ahead = 0
            elif not opening:
                branch.put(item)
                self._largest = max(self._largest, branch.largest)
                if isinstance(item, Block):
                    self._row_bytes = max(self._row_bytes, item.nbytes // item.rows)
            elif isinstance(item, BaseException):
                branch.failed = item
            branch.busy = False
            closed = branch.closed
            self._changed.notify_all()
        item = None  # an error keeps this frame, which must not keep the error
        if closed:
            branch.close_source()

    def _give_way(self) -> bool:
        """Close what was opened before its turn, and open no more so; whether there was any."""
        with self._lock:
            early = [branch for branch in self._coming if branch.busy or branch.source is not None]
            for branch in self._coming:
                branch.postponed = True
            while any(branch.busy for branch in early):
                self._stop.check()
                self._wait()
            idle = [branch for branch in early if branch in self._coming]  # some may have got their turn
            for branch in idle:
                branch.busy = True
        for branch in idle:
            branch.postpone()
        with self._lock:
            for branch in idle:
                branch.busy = False
        return bool(early)

    def _open_now(self, branch: Branch, *, wanted: bool) -> None:
        assert branch.opening is not None
        if wanted:
            branch.source = branch.opening.open()
            return
        account, most = self._context.account, self._context.ledger.budget // PINNED
        if account.pinned > most:
            raise BudgetError(f"The arrays of datasets that are open take {show_bytes(account.pinned)}.")
        with account.holding_at_most(most):
            branch.source = branch.opening.open()

    def _wake(self) -> None:
        with self._lock:
            self._changed.notify_all()

    def close(self) -> None:
        self._stop.set()
        inputs = self._context.inputs

        def close_inputs() -> None:
            for stage in inputs:
                stage.close()

        if not end_all(self._asides, close_inputs):
            self._context.leave(*inputs)
        self._op.close()
        self._op.branches = Branches(lambda: None)  # nobody refers to this any more
        with self._lock:
            for branch in (*self._coming, *self._open):
                branch.queue.clear()
            self._coming.clear()
            self._open.clear()
