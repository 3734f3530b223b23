"""The seam of an op that works on several blocks at once: threads, and whoever waits for a block.

Rows are taken in one block at a time and come out in that order, whoever has worked on them. Who pulls
works as well, so that with two calls at once there is one thread more, and nobody only waits; but where
calls are made in worker processes, each has a thread here, and who pulls waits for them.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import suppress
from copy import copy
from functools import partial
from time import perf_counter, thread_time
from typing import Any

from penstock.blocks.block import Block
from penstock.engine.aside import Aside, end_all
from penstock.engine.cancel import Cancel, Cancelled
from penstock.engine.context import StageContext
from penstock.engine.demand import MOST
from penstock.engine.guesses import Undecided, agrees
from penstock.engine.roster import ParallelOp, Roster
from penstock.errors import ElementError, PenstockError
from penstock.graph.running import Divisible, Running, Task
from penstock.graph.track import Pace

BETWEEN = 3
"""Between a block and what comes of it there are intermediate results: room for so many times the larger."""


class _Work:
    """A task in its place in the stream: still being done, or what came of it."""

    __slots__ = ("again", "claimed", "done", "made", "rest", "state")

    def __init__(self, claimed: int) -> None:
        self.state: Any = None  # of the op before it, if it was taken
        self.claimed = claimed
        self.done = False
        self.made: list[Block | BaseException] = []
        self.rest: Task | None = None
        self.again: Task | None = None  # the same once more, where it was done with a guess


class Parallel(Running):
    """Works on blocks side by side, and hands them on in order."""

    def __init__(self, context: StageContext, op: ParallelOp) -> None:
        self._context = context
        self._process = os.getpid()
        # Whom to wake: who pulls, a thread that could take rows in, and those that are not to work now.
        # With one condition for all, every row of sixty-four calls would wake all of their threads.
        self._lock = threading.RLock()  # in each `with`, and not the condition: decision 0007
        self._changed, self._turns, self._bench = (threading.Condition(self._lock) for _ in range(3))
        self._stop = context.cancel = Cancel(context.cancel, self._wake)
        running = op.start(context)
        assert isinstance(running, Divisible)
        self._op = running
        self._roster = Roster(context, op, running)
        self._taking = False  # whether somebody is just taking rows in
        self._line: deque[_Work] = deque()
        self._ready: deque[Block | BaseException] = deque()
        self._rest: Task | None = None
        self._asides: list[Aside] = []
        self._given = 0  # rows that were handed on
        self._pulls = 0
        self._largest, self._row_bytes = self._roster.nbytes  # of the work on a block, and of a result
        self._ended = False
        self._pace = Pace()

    def pull(self, rows: int) -> Block | None:
        if os.getpid() != self._process:
            raise PenstockError(
                "An iteration was asked for an element in a process that was forked while it ran: its "
                "threads and workers are those of the other. Start another one there: ds.iterate()."
            )
        self._pulls += 1
        portions = self._roster.portions
        portions.ask(rows)
        began = perf_counter()
        block = self._pull(rows)
        self._given += 0 if block is None else block.rows
        if self._given >= portions.asked:
            self._roster.add_spare()  # at first it would hold up the others
        if block is not None and self._roster.pulled(began, perf_counter(), block.rows):
            self._wake()
        return block

    def _pull(self, rows: int) -> Block | None:
        while not self._ready:
            if self._rest is not None:
                made, self._rest = self._rest.do(rows)
                self._ready.extend(made)
                self._tell_of_changes()
                continue
            work = self._next_done()
            if work is None:
                return None
            if work.state is not None:
                self._context.track.stand(work.state)
            if work.again is not None:
                self._look_at(work)
            self._ready.extend(work.made)
            self._rest = work.rest
        head = self._ready.popleft()
        if isinstance(head, BaseException):
            try:
                raise head
            finally:
                del head  # an error that is a variable of its own frame would keep it alive
        if head.rows > rows:
            self._ready.appendleft(head.slice(rows, head.rows))
            head = head.slice(0, rows)
        return head

    def _next_done(self) -> _Work | None:
        """The first in line, once it is done; None at the end. Works on another one meanwhile."""
        while True:
            with self._lock:
                if (done := self._done()) is not None:
                    for before in self._line:
                        if before is done:
                            break
                        before.state = None  # what comes after it is handed on already
                    self._line.remove(done)
                    if self._line:
                        self._turns.notify()
                    else:
                        self._tell_all()
                    return done
            if self._roster.waits:
                self._stop.check()
                self._start_asides()
            elif (work := self._begin()) is not None:
                self._context.meter.waited += self._work_on(work)
                if len(self._asides) < self._roster.threads and self._roster.worth_threads:
                    self._start_asides()
                continue
            with self._lock:
                if self._ended and not self._line:
                    return None
                if self._done() is None:
                    self._stop.check()  # with the lock, so that nobody says so in between
                    began = perf_counter()
                    self._changed.wait()
                    self._context.meter.waited += perf_counter() - began

    def _look_at(self, work: _Work) -> None:
        """Its turn has come: what was made with a guess is made again if that was wrong."""
        again, work.again = work.again, None
        if again is not None and not agrees(self._op.function.plain, work.made):
            work.made, work.rest = self._results(again)
            self._tell_of_changes()

    def _tell_of_changes(self) -> None:
        """Calls that who pulls has made by itself may have told that others are to work now."""
        with self._lock:
            if self._roster.changed():
                self._tell_all()

    def _done(self) -> _Work | None:
        """What can be handed on now: the first in line, if it is done, or any where order is no matter."""
        if self._roster.in_order:
            return self._line[0] if self._line and self._line[0].done else None
        return next((work for work in self._line if work.done), None)

    def _help(self, number: int) -> None:
        """What the thread of that number does until the end."""
        roster, executor = self._roster, self._roster.executor
        while True:
            if roster.unprepared(number):
                assert executor is not None
                try:
                    executor.prepare(number)
                except Exception as error:  # too many files are open, say
                    self._fail(error)
                    return
                self._wake()  # who pulls may leave the work to others now
            work = self._begin(number)
            if work is None:
                if self._ended:
                    self._tell_nearly_over()
                    return
                if not roster.unprepared(number):
                    return
                continue
            began = perf_counter()
            waited = self._work_on(work)
            self._context.meter.seconds += perf_counter() - began - waited

    def _tell_nearly_over(self) -> None:
        """Say that there are no more rows, and at how many blocks somebody is still at work."""
        with self._lock:
            left = sum(not work.done for work in self._line)
        if self._roster.executor is not None:
            self._roster.executor.nearly_over(left)

    def _begin(self, number: int = -1) -> _Work | None:
        """The turn to take rows in, with a place at the end of the line.

        The thread of a `number` waits for it, until the end; who pulls gets None if it is not to be had.
        """
        wait = number >= 0
        with self._lock:
            while True:
                self._stop.check()
                if self._ended:
                    return None
                if wait and self._roster.unprepared(number):
                    return None
                free = not self._taking and len(self._line) <= self._roster.places
                if free and (not wait or self._may(number)):
                    work = self._place()
                    if work is not None:
                        self._taking = True
                        self._line.append(work)
                        return work
                if not wait:
                    return None
                if self._may(number):
                    self._turns.wait()
                else:
                    self._turns.notify()  # it may have been woken in place of another
                    self._bench.wait()

    def _may(self, number: int) -> bool:
        """Whether the thread of that number may work now."""
        return self._roster.may(number, first=not self._line)

    def _fail(self, error: BaseException) -> None:
        """End the stream with an error, after what is in line."""
        with self._lock:
            if not self._ended:
                self._ended = True
                work = _Work(0)
                work.made, work.done = [error], True
                self._line.append(work)
            self._tell_all()

    def _place(self) -> _Work | None:
        """A place in the line, with room in the budget for what is made there; who is first needs none."""
        if not self._line:
            return _Work(0)
        if self._left_for_others and self._context.ledger.claim(self._context.account, self._largest):
            return _Work(self._largest)
        self._context.note("works on fewer blocks at once, to stay in the budget")
        return None

    @property
    def _left_for_others(self) -> bool:
        """Whether there is room for what the op below stacks; once it has rows it says so itself."""
        if self._pulls > 1 or self._context.stacks == 1:
            return True
        wanted = self._largest + self._context.stacks * self._row_bytes
        return self._context.ledger.room(self._context.account) >= wanted

    def _work_on(self, work: _Work) -> float:
        """Take rows in, let the next one do so, and do the task; how long it took to get the rows."""
        made: list[Block | BaseException] = []
        task = None
        began = perf_counter()
        if self._pace.due:
            work.state = self._pace.taken(self._op.state)
        try:
            task = self._op.divide(self._roster.rows_at_once())
            self._roster.portions.took(0 if task is None else task.rows)
        except (Cancelled, KeyboardInterrupt):
            raise
        except BaseException as error:  # raised again where it stands in the stream
            made.append(error)
        finally:
            waited = perf_counter() - began
            with self._lock:
                self._taking = False
                if task is None and not (made and isinstance(made[0], ElementError)):
                    self._ended = True
                if self._ended:
                    self._tell_all()
                elif len(self._line) <= self._roster.places:
                    self._turns.notify()
                    self._changed.notify()
        if task is None:
            self._finish(work, made, None)
        else:
            self._do(work, task)
        return waited

    def _do(self, work: _Work, task: Task) -> None:
        began, busy = perf_counter(), thread_time()
        taken = task.nbytes
        if self._roster.guesses:
            work.again = copy(task)
        made: list[Block | BaseException] = []
        rest = None
        with suppress(Undecided):  # then it is done in its turn
            made, rest = self._results(task)
        rows = max((block.rows for block in made if isinstance(block, Block)), default=1)
        self._roster.worked(perf_counter() - began, thread_time() - busy, rows)
        self._finish(work, made, rest, taken)

    def _results(self, task: Task) -> tuple[list[Block | BaseException], Task | None]:
        try:
            made, rest = task.do(MOST)
            del task
            for block in made:
                if isinstance(block, Block):
                    self._context.account.adopt(block)
            return [*made], rest
        except (Cancelled, KeyboardInterrupt, Undecided):
            raise
        except BaseException as error:
            self._ended = True
            return [error], None

    def _finish(
        self, work: _Work, made: list[Block | BaseException], rest: Task | None, taken: int = 0
    ) -> None:
        blocks = [block for block in made if isinstance(block, Block)]
        given = sum(block.nbytes for block in blocks)
        with self._lock:
            self._row_bytes = max(self._row_bytes, given // max(1, sum(block.rows for block in blocks)))
            self._largest = max(self._largest, given + taken + BETWEEN * max(given, taken))
            # The C library keeps for each thread what it frees, a few times what it made at once.
            most = self._context.ledger.budget // (2 * BETWEEN * max(given, 1))
            self._roster.helpers = min(self._roster.helpers, most)
            work.made, work.rest, work.done = made, rest, True
            self._context.ledger.unclaim(work.claimed)
            if self._ended or self._roster.changed():
                self._tell_all()
            else:
                self._turns.notify()
                if not self._roster.in_order or self._done() is not None:
                    self._changed.notify()

    def _start_asides(self) -> None:
        name = f"penstock-{self._context.label}"
        if not self._asides and self._roster.executor is not None:
            self._roster.executor.begin(self._roster.threads)
        while len(self._asides) < self._roster.threads:
            self._roster.started = True
            self._asides.append(Aside(self._context.run, name, partial(self._help, len(self._asides))))

    def state(self) -> Any:
        """Where the op stands, before its beginning: later, where it stood before what is in line."""
        return self._op.state()

    def restore(self, state: Any) -> None:
        self._op.restore(state)
        self._roster.portions.length = -1  # nobody knows how many of them are left

    def _wake(self) -> None:
        if os.getpid() != self._process:  # in a forked child the lock may be held by nobody
            return
        with self._lock:
            self._tell_all()

    def _tell_all(self) -> None:
        for waiting in (self._changed, self._turns, self._bench):
            waiting.notify_all()

    def close(self) -> None:
        self._stop.set()
        if os.getpid() != self._process:
            return
        inputs = self._context.inputs

        def close_inputs() -> None:
            for stage in inputs:
                stage.close()

        if not end_all(self._asides, close_inputs):
            self._context.leave(*inputs)
        self._op.close()
        self._roster.close(self._largest, self._row_bytes)
        with self._lock:
            self._line.clear()
            self._ready.clear()
            self._rest = None
