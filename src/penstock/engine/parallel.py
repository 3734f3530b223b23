"""The seam of an op that works on several blocks at once: threads, and whoever waits for a block.

Rows are taken in one block at a time and come out in that order, whoever has worked on them. Who pulls
works as well, so that with two calls at once there is one thread more, and nobody only waits.
"""

from __future__ import annotations

import threading
from collections import deque
from functools import partial
from time import perf_counter
from typing import Protocol

from penstock.blocks.block import Block
from penstock.engine.aside import Aside, end_all
from penstock.engine.cancel import Cancel, Cancelled
from penstock.engine.cores import usable_cores
from penstock.engine.demand import MOST, PATIENCE
from penstock.engine.stage import StageContext
from penstock.errors import ElementError
from penstock.graph.op import AUTOTUNE
from penstock.graph.running import Context, Divisible, Running, Task

WORTH = 1e-4
"""Seconds: work on a block that takes less is not worth a thread."""
BETWEEN = 3
"""Between a block and what comes of it there are intermediate results: room for so many times the larger."""


class ParallelOp(Protocol):
    """What the seam reads of its op."""

    @property
    def num_parallel_calls(self) -> int | None:
        """How many blocks to work on at once, or `AUTOTUNE`."""

    def start(self, context: Context) -> Running:
        """The op at work."""


class _Work:
    """A task in its place in the stream: still being done, or what came of it."""

    __slots__ = ("claimed", "done", "made", "rest")

    def __init__(self, claimed: int) -> None:
        self.claimed = claimed
        self.done = False
        self.made: list[Block | BaseException] = []
        self.rest: Task | None = None


class Parallel(Running):
    """Works on blocks side by side, and hands them on in order."""

    def __init__(self, context: StageContext, op: ParallelOp) -> None:
        self._context = context
        self._stop = context.cancel = Cancel(context.cancel, self._wake)
        running = op.start(context)
        assert isinstance(running, Divisible)
        self._op = running
        calls, self._cores = op.num_parallel_calls, usable_cores()
        self._asked = self._cores if calls is None or calls == AUTOTUNE else calls
        self._taking = False  # whether somebody is just taking rows in
        self._changed = threading.Condition()
        self._line: deque[_Work] = deque()
        self._ready: deque[Block | BaseException] = deque()
        self._rest: Task | None = None
        self._asides: list[Aside] = []
        self._rows = 1
        self._largest = 0
        self._helpers = 1 << 30  # so many of the threads may work, those of the lowest numbers
        self._seconds = self._row_seconds = 0.0  # that the last task took, and a row of it
        self._ended = False

    @property
    def _calls(self) -> int:
        """How many blocks to work on at once."""
        return min(self._asked, self._cores) if self._op.fills_cores else self._asked

    def pull(self, rows: int) -> Block | None:
        self._rows = max(rows, self._rows)
        while not self._ready:
            if self._rest is not None:
                made, self._rest = self._rest.do(rows)
                self._ready.extend(made)
                continue
            work = self._next_done()
            if work is None:
                return None
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
            with self._changed:
                if self._line and self._line[0].done:
                    self._changed.notify_all()
                    return self._line.popleft()
            work = self._begin()
            if work is not None:
                self._context.meter.waited += self._work_on(work)
                if len(self._asides) < self._calls - 1 and self._seconds > WORTH and self._op.side_by_side:
                    self._start_asides()
                continue
            with self._changed:
                if self._ended and not self._line:
                    return None
                if not self._line or not self._line[0].done:
                    began = perf_counter()
                    self._changed.wait()
                    self._context.meter.waited += perf_counter() - began

    def _help(self, number: int) -> None:
        """What the thread of that number does until the end."""
        while (work := self._begin(number)) is not None:
            began = perf_counter()
            waited = self._work_on(work)
            self._context.meter.seconds += perf_counter() - began - waited

    def _begin(self, number: int = -1) -> _Work | None:
        """The turn to take rows in, with a place at the end of the line.

        The thread of a `number` waits for it, until the end; who pulls gets None if it is not to be had.
        """
        wait = number >= 0
        with self._changed:
            while True:
                self._stop.check()
                if self._ended:
                    return None
                free = not self._taking and len(self._line) <= self._calls
                if free and (not wait or (self._op.side_by_side and number < self._helpers)):
                    work = self._place()
                    if work is not None:
                        self._taking = True
                        self._line.append(work)
                        return work
                if not wait:
                    return None
                self._changed.wait()

    def _place(self) -> _Work | None:
        """A place in the line, with room in the budget for what is made there; who is first needs none."""
        if not self._line:
            return _Work(0)
        if self._context.ledger.claim(self._context.account, self._largest):
            return _Work(self._largest)
        self._context.note("works on fewer blocks at once, to stay in the budget")
        return None

    def _work_on(self, work: _Work) -> float:
        """Take rows in, let the next one do so, and do the task; how long it took to get the rows."""
        made: list[Block | BaseException] = []
        task = None
        began = perf_counter()
        try:
            task = self._op.divide(max(1, min(self._rows, int(PATIENCE / max(self._row_seconds, 1e-9)))))
        except (Cancelled, KeyboardInterrupt):
            raise
        except BaseException as error:  # raised again where it stands in the stream
            made.append(error)
        finally:
            waited = perf_counter() - began
            with self._changed:
                self._taking = False
                if task is None and not (made and isinstance(made[0], ElementError)):
                    self._ended = True
                self._changed.notify_all()
        if task is None:
            self._finish(work, made, None)
        else:
            self._do(work, task)
        return waited

    def _do(self, work: _Work, task: Task) -> None:
        began = perf_counter()
        taken = task.nbytes
        made: list[Block | BaseException]
        rest, rows = None, 1
        try:
            done, rest = task.do(MOST)
            del task
            for block in done:
                if isinstance(block, Block):
                    self._context.account.adopt(block)
                    rows = block.rows
            made = [*done]
        except (Cancelled, KeyboardInterrupt):
            raise
        except BaseException as error:
            made = [error]
            self._ended = True
        self._seconds = perf_counter() - began
        self._row_seconds = self._seconds / rows
        self._finish(work, made, rest, taken)

    def _finish(
        self, work: _Work, made: list[Block | BaseException], rest: Task | None, taken: int = 0
    ) -> None:
        given = sum(block.nbytes for block in made if isinstance(block, Block))
        with self._changed:
            self._largest = max(self._largest, given + taken + BETWEEN * max(given, taken))
            # The C library keeps for each thread what it frees, a few times what it made at once.
            self._helpers = min(self._helpers, self._context.ledger.budget // (2 * BETWEEN * max(given, 1)))
            work.made, work.rest, work.done = made, rest, True
            self._context.ledger.unclaim(work.claimed)
            self._changed.notify_all()

    def _start_asides(self) -> None:
        name = f"penstock-{self._context.label}"
        while len(self._asides) < self._calls - 1:
            self._asides.append(Aside(self._context.run, name, partial(self._help, len(self._asides))))

    def _wake(self) -> None:
        with self._changed:
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
        with self._changed:
            self._line.clear()
            self._ready.clear()
            self._rest = None
