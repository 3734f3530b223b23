"""Who works on the blocks of an op side by side: how many threads, which of them now, on how many rows.

It is decided anew at every block, from what was asked for and what has been measured.
"""

from __future__ import annotations

from typing import Any, Protocol

from penstock.engine.context import StageContext
from penstock.engine.cores import usable_cores
from penstock.engine.executor import Executor
from penstock.engine.portions import Portions
from penstock.engine.tuner import Calls, most_calls
from penstock.graph.op import AUTOTUNE
from penstock.graph.running import Context, Divisible, Running

WORTH = 1e-4
"""Seconds: work on a block that takes less is not worth a thread."""
SPARE = 4
"""For each so many cores there is a worker process more than cores. On fewer it would take their time."""


class ParallelOp(Protocol):
    """What is read of an op whose blocks are worked on side by side."""

    @property
    def num_parallel_calls(self) -> int | None:
        """How many blocks to work on at once, or `AUTOTUNE`."""

    @property
    def deterministic(self) -> bool | None:
        """Whether what comes of them keeps its order; None for yes."""

    def start(self, context: Context) -> Running:
        """The op at work."""


class Roster:
    """The numbers and rules by which threads of an op work or wait."""

    def __init__(self, context: StageContext, op: ParallelOp, running: Divisible) -> None:
        self._op = running
        self.in_order = op.deterministic is not False
        asked, self._cores = op.num_parallel_calls, usable_cores()
        self._asked = self._cores if asked is None or asked == AUTOTUNE else asked
        self._tuned: Calls | None = None
        if asked == AUTOTUNE:
            self._tuned = Calls(context.run.turn, context.meter, self._cores, most_calls(self._cores))
        self.portions = Portions(self._asked, context.node.op.cardinality)
        self.helpers = 1 << 30
        """So many of the threads may work here, those of the lowest numbers."""
        self.started = False
        """Whether there are threads beside the one that pulls."""
        self._spare = 0  # worker processes more than cores
        self._seconds = self._row_seconds = 0.0  # that the last task took, and a row of it
        self._seen: tuple[Any, ...] = ()  # what decides who may work, when it was last looked at
        self.executor: Executor | None = None
        if running.function is not None:
            self.executor = Executor(
                context, running.function, self._cores, self.portions, in_order=self.in_order
            )

    @property
    def calls(self) -> int:
        """How many blocks to work on at once."""
        asked = self._asked if self._tuned is None else self._tuned.now
        if self._op.fills_cores or (self._tuned is not None and self.elsewhere):
            return min(asked, self._cores)
        return asked

    @property
    def elsewhere(self) -> bool:
        """Whether the work is done in other processes."""
        return self.executor is not None and self.executor.elsewhere

    @property
    def alone(self) -> bool:
        """Whether who pulls works by itself: calls on several threads would wait for one another."""
        return self.executor is not None and self.executor.alone

    @property
    def waits(self) -> bool:
        """Whether who pulls leaves the work to the others: it hands on what is ready, whatever takes long."""
        if self.in_order or not self.started:
            return self.elsewhere
        return not self.alone

    @property
    def threads(self) -> int:
        """How many threads to have beside the one that pulls."""
        calls = self.calls
        if self.executor is None or not self.executor.to_processes:
            return calls - 1 if self.in_order else calls
        return calls + self._spare if self._tuned is not None and calls == self._cores else calls

    @property
    def places(self) -> int:
        """How many blocks may be in line when another one is taken in.

        Threads that call row by row, and may wait for a file, a server or a worker process, go on with the
        next one while what is done waits for its turn.
        """
        return 2 * self.threads if self.elsewhere or not self._op.fills_cores else self.calls

    @property
    def guesses(self) -> bool:
        """Whether what is made now is to be looked at in its turn, as nobody knows what results look like."""
        executor = self.executor
        return executor is not None and executor.guesses and self._op.function.plain.structure is None

    @property
    def side_by_side(self) -> bool:
        """Whether blocks may be worked on at the same time. All workers are told what the first result is."""
        if self.elsewhere and self._op.function.plain.structure is None:
            return self.guesses
        return self._op.side_by_side

    @property
    def worth_threads(self) -> bool:
        """Whether a block is so much work that another thread is of use."""
        return not self.alone and self._seconds > WORTH and self._op.side_by_side

    def may(self, number: int, *, first: bool) -> bool:
        """Whether the thread of that number may work now; `first` if nothing is in line."""
        if number >= self.threads or self.alone:
            return False
        if first and self.waits:  # who pulls does not work: one always may
            return True
        return self.side_by_side and (self.elsewhere or number < self.helpers)

    def unprepared(self, number: int) -> bool:
        """Whether the thread of that number has yet to get a worker process."""
        return self.executor is not None and self.executor.unprepared(number)

    def rows_at_once(self) -> int:
        """How many rows to take in: one, until it is known what comes of it and how long it takes."""
        if self.executor is not None and self.elsewhere:
            seconds = self.executor.row_seconds or self._row_seconds
            if not seconds or not self.side_by_side:
                return 1
            return self.portions.elsewhere(seconds, self._op.function.larger())
        if self.executor is not None and not self._row_seconds:
            return 1
        return self.portions.here(self._row_seconds)

    def worked(self, seconds: float, busy: float, rows: int) -> None:
        """A task of so many rows took so long, and kept a core busy for so long."""
        self._seconds, self._row_seconds = seconds, seconds / rows
        if self._tuned is not None:
            self._tuned.worked(seconds, busy)

    def add_spare(self) -> None:
        """Have more worker processes than cores, to be at work while the blocks of others are handed over."""
        self._spare = self._cores // SPARE

    def pulled(self, began: float, ended: float, rows: int) -> bool:
        """Who pulls has got so many rows; whether another number of threads may work now."""
        if self._tuned is None or not (self.started or self._cores == 1):  # one call begins without threads
            return False
        self._tuned.limit = self._cores if self._op.fills_cores else most_calls(self._cores)
        if self.elsewhere:  # another worker process is no small step
            self._tuned.fix(self._cores, "a worker process for each core that may be used")
        return self._tuned.pulled(began, ended, rows)

    @property
    def nbytes(self) -> tuple[int, int]:
        """The bytes that work on a block takes, and those of one of its results, as far as they are known."""
        known = self._op.function.learned.nbytes if self.guesses else None
        return known or (0, 0)

    def close(self, largest: int, row_bytes: int) -> None:
        """End the workers; the work on a block took so many bytes, and one of its results so many."""
        if self.executor is not None:
            if largest:
                self._op.function.learned.nbytes = largest, row_bytes
            self.executor.close()

    def changed(self) -> bool:
        """Whether others may work now than when it was last looked at."""
        executor = self.executor
        who = executor is not None and (executor.alone, executor.to_processes, executor.elsewhere)
        now = (self.threads, self.helpers, self.waits, self.side_by_side, who)
        changed, self._seen = now != self._seen, now
        return changed
