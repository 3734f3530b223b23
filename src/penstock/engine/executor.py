"""How the calls of a map are made: as the user says, or as measured on the first rows.

Whether a function runs over the block is no matter of time: the function and the spec decide
(`functions/row_function.py`). What is left is called row by row, here or in worker processes.
"""

from __future__ import annotations

import threading
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.engine.cancel import Cancelled
from penstock.engine.gil import Probe
from penstock.engine.stage import StageContext
from penstock.errors import ElementError, PenstockError
from penstock.functions.effects import effects
from penstock.functions.plain_rows import Outcome
from penstock.functions.row_function import RowFunction

if TYPE_CHECKING:
    from penstock.engine.processes.calls import Workers

NOTICED = 3e-4
"""Seconds: calls with a block that take less are not measured yet."""
MEASURED = 0.008
"""Seconds of calls after which it is known what they spend them on."""
HEAVY = 2e-4
"""Seconds: a call that takes so long is worth a worker process at once; others when they have taken long."""
LONG = 0.2
"""Seconds of calls, all together, that are long."""
LEAST = 0.3
"""Seconds: where all calls that are left take less, a worker process would come too late."""
HOLDS = 0.4
"""The share of its time for which a function holds Python's lock, from which on threads are of no use."""
THREADS, PROCESSES = "threads", "worker processes"
COPIED = 1e-9
"""Seconds that a byte takes to a worker and back."""


class Executor:
    """Decides who makes the calls that a function needs row by row, and ends whoever it started."""

    def __init__(self, context: StageContext, function: RowFunction, cores: int) -> None:
        self._context = context
        self._function = function
        self._plain = function.plain
        self._cores = cores
        self._workers: Workers | None = None
        self._left: Workers | None = None
        """Those that are done without, to be closed with the others."""
        self._asked = function.executor == "processes"
        self._prepared: set[int] = set()
        self._served: set[int] = set()
        self._measuring = threading.Lock()
        self._held = self._measured = self._last = 0.0
        self._busy = 0.0
        self._rows = self._bytes = 0
        self._settled = function.executor != "auto"
        self.alone = False
        """Whether calls on several threads would only wait for one another."""
        if self._asked:
            self._use_workers("")
        if function.executor == "auto":
            function.calls = self
            self._as_before()

    def _as_before(self) -> None:
        """Decide as an earlier run of the pipeline did, if there was one."""
        if self._function.learned.called is None or self._cores == 1:
            return
        who, why, each = self._function.learned.called
        if who == THREADS:
            self._say(who, why)
        elif self._pays(each):
            self._use_workers(why)

    @property
    def elsewhere(self) -> bool:
        """Whether calls are made in other processes, so that who waits for them need not work."""
        workers = self._workers
        return workers is not None and (self._asked or workers.near)

    @property
    def to_processes(self) -> bool:
        """Whether calls are made in other processes, or will be as soon as there are some."""
        return self._workers is not None

    @property
    def row_seconds(self) -> float:
        """How long a call takes in a worker process."""
        return 0.0 if self._workers is None else self._workers.row_seconds

    def unprepared(self, thread: int) -> bool:
        """Whether the thread of that number, which is going to make calls, has no worker yet."""
        return self._workers is not None and thread not in self._prepared

    def prepare(self, thread: int) -> None:
        """On that thread: have a worker ready for it."""
        workers = self._workers
        if workers is None or thread in self._prepared:
            return
        self._prepared.add(thread)
        try:
            workers.prepare()
            self._served.add(threading.get_ident())
        except Cancelled:
            raise
        except PenstockError as error:
            self._do_without(error)

    def apply(self, block: Block, numbers: NDArray[np.int64], room: int) -> Outcome:
        """As `PlainRows.apply`, with an eye on what the calls cost."""
        workers = self._workers
        # Who pulls makes calls only until the others have their workers, and has none itself.
        if workers is not None and threading.get_ident() in self._served:
            try:
                return workers.apply(block, numbers, room)
            except ElementError:
                raise
            except PenstockError as error:
                self._do_without(error)
        if self._settled or not self._measuring.acquire(blocking=False):
            return self._plain.apply(block, numbers, room)
        try:
            return self._measure(block, numbers, room)
        finally:
            self._measuring.release()

    def _measure(self, block: Block, numbers: NDArray[np.int64], room: int) -> Outcome:
        began, cpu = perf_counter(), thread_time()
        if self._last > NOTICED and self._measured < MEASURED and self._cores > 1:
            with Probe() as probe:
                outcome = self._plain.apply(block, numbers, room)
            self._held += probe.held * probe.seconds
            self._measured += probe.seconds
        else:
            outcome = self._plain.apply(block, numbers, room)
        self._last = perf_counter() - began
        self._busy += thread_time() - cpu
        self._rows += outcome.used
        self._bytes += block.nbytes + (0 if outcome.block is None else outcome.block.nbytes)
        self._decide()
        return outcome

    def _decide(self) -> None:
        if self._cores == 1:
            self._say(THREADS, "there is one core")
        elif self._measured >= MEASURED:
            held, each = self._held / self._measured, self._busy / self._rows
            self.alone = held >= HOLDS
            if not self.alone:
                self._decided(THREADS, f"it holds Python's lock for {held:.0%} of its time", each)
            elif (each >= HEAVY or self._busy >= LONG) and self._pays(each):
                why = effects([function.function for function in self._function.functions])
                said = f"it holds Python's lock for {held:.0%} of its {each * 1000:.2g} ms an element"
                if why:
                    self._decided(THREADS, f"{said}, but {why}", each)
                else:
                    self._decided(PROCESSES, said, each)

    def _decided(self, who: str, why: str, each: float) -> None:
        self._function.learned.called = who, why, each
        if who == THREADS:
            self._say(who, why)
        else:
            self._use_workers(why)

    def _pays(self, each: float) -> bool:
        """Whether enough is left to do, and it takes longer than the way there and back."""
        length = self._context.node.op.cardinality
        if length >= 0 and (length - self._rows) * each < LEAST:
            return False
        return COPIED * self._bytes / max(self._rows, 1) < each / 2

    def _use_workers(self, why: str) -> None:
        try:
            from penstock.engine.processes.calls import Workers  # importing Penstock is quick

            self._workers = Workers(self._context, self._function.functions, self._plain)
        except PenstockError as error:
            if self._asked:
                raise
            self._say(THREADS, f"worker processes cannot be used: {error}")
            return
        if self._asked:
            self._function.calls = self._workers
        self._say(PROCESSES, why)

    def _do_without(self, error: PenstockError) -> None:
        """Go on with threads, as nobody asked for worker processes."""
        if self._asked:
            raise error
        self._left, self._workers = self._workers or self._left, None
        self._say(THREADS, f"worker processes could not be used: {error}")

    def _say(self, who: str, why: str) -> None:
        self._settled = True
        self.alone = False
        if why:
            self._context.note(f"called in {who}: {why}")

    def close(self) -> None:
        """End the workers."""
        for workers in (self._workers, self._left):
            if workers is not None:
                workers.close()
