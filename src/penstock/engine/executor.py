"""Where the calls of a map are made: as the user says, or as measured on the first rows.

Whether a function is called over whole blocks or row by row is no matter of time: the function and the spec
decide (`functions/row_function.py`). Either is done on threads here or in worker processes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.later import has_images
from penstock.engine import worth
from penstock.engine.cancel import Cancelled
from penstock.engine.context import StageContext
from penstock.engine.crowd import Crowd
from penstock.engine.portions import Portions
from penstock.engine.taken import Taken
from penstock.errors import BudgetError, ElementError, PenstockError
from penstock.functions.effects import effects
from penstock.functions.plain_rows import Outcome
from penstock.functions.row_function import RowFunction
from penstock.kernels import loading

if TYPE_CHECKING:
    from penstock.engine.processes.calls import Workers

NOTICED = 3e-4
"""Seconds: calls row by row with a block that take less are not measured yet."""
LONG_ENOUGH = 2e-3
"""Seconds: a call over a block that takes less cannot be measured."""
MEASURED = 0.008
"""Seconds of calls after which it is known what they spend them on."""
HEAVY = 2e-4
"""Seconds: a call that takes so long is worth a worker process at once; others when they have taken long."""
LONG = 0.2
"""Seconds of calls, all together, that are long."""
FIRST = 8
"""So many rows of calls over blocks do not count: they load what the others find there, and are compared."""
OFTEN = 4
"""Calls over blocks are measured for so many times as long: one in many rows is compared as well."""
ONE_THREAD = 0.032
"""Seconds of calls that compute, after which they are no longer kept to one thread to be measured."""
LOOKS = 64
"""After so many calls over blocks that could not be measured they stay here."""
THREADS, PROCESSES = "threads", "worker processes"


class Executor:
    """Decides who makes the calls that a function needs row by row, and ends whoever it started."""

    def __init__(
        self,
        context: StageContext,
        function: RowFunction,
        cores: int,
        portions: Portions,
        *,
        in_order: bool,
    ) -> None:
        self._context = context
        self._function = function
        self._cores = cores
        self._portions = portions
        self._in_order = in_order
        self._workers: Workers | None = None
        self._left: Workers | None = None
        """Those that are done without, to be closed with the others."""
        self._asked = function.executor == "processes"
        self._prepared: set[int] = set()
        self._served = False  # whether some thread has a worker
        self._measuring = threading.Lock()
        self._crowd: Crowd | None = None
        """Calls on threads that are watched, whether they wait for one another."""
        self._later: tuple[str, float] | None = None
        """Why calls are to go to worker processes after the first rows, and what a row takes."""
        self._begun = self._looks = 0
        self._settled = function.executor != "auto"
        self._noted = self._to_say = ""
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
            # Nothing has been called yet, but it is known how it will be: workers need far less for rows.
            self._function.why = self._function.why or self._function.learned.row_by_row
            if worth.server_is_there():
                self._use_workers(why)
            else:
                self._later, self.alone = (why, each), True

    def _after_first(self, call: Callable[[], Outcome], why: str, each: float) -> Outcome:
        """Make a call here of a function that is to go to worker processes, once the first rows are there."""
        outcome = call()
        if not self._first_before_workers(each):
            self._use_workers(why)
        return outcome

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
    def guesses(self) -> bool:
        """Whether workers are at work before it is known what results look like (`engine/guesses.py`)."""
        return self._workers is not None and self._workers.guesses

    @property
    def row_seconds(self) -> float:
        """How long a call takes in a worker process."""
        return 0.0 if self._workers is None else self._workers.row_seconds or self._function.learned.seconds

    def unprepared(self, thread: int) -> bool:
        """Whether the thread of that number, which is going to make calls, has no worker yet."""
        return self._workers is not None and thread not in self._prepared

    def begin(self, threads: int) -> None:
        """Have workers get ready while the threads that are going to use them are started."""
        if self._workers is not None:
            self._workers.begin(threads)

    def prepare(self, thread: int) -> None:
        """On that thread: have a worker ready for it."""
        workers = self._workers
        if workers is None or thread in self._prepared:
            return
        self._prepared.add(thread)
        try:
            workers.prepare()
            if self._asked and not self._served and (why := effects(self._called)):
                self._context.note(f"{why}: each worker process has its own, of which nothing is seen here")
            self._served = True
        except Cancelled:
            raise
        except (PenstockError, OSError) as error:  # too many files are open, say
            self._do_without(error)

    def nothing_left(self) -> None:
        """A thread has nothing to do any more, as all rows have been taken in."""
        if self._workers is not None:
            self._workers.nothing_left()

    def apply(self, block: Block, numbers: NDArray[np.int64], room: int, place: int) -> Outcome:
        """As `RowFunction.apply`, with an eye on what the calls cost."""
        workers = self._workers
        # Who pulls makes calls until others have their workers. From then on it borrows one, for what is left
        # of a block after a row that failed: the next one may be what kills its worker.
        if workers is not None and self._served:
            try:
                outcome = workers.apply(block, numbers, room, place)
            except (Cancelled, ElementError):
                raise
            except (PenstockError, OSError) as error:
                self._do_without(error)
            else:
                if self._to_say:
                    self._say(PROCESSES, self._to_say)
                return outcome
        crowd = self._crowd
        if crowd is not None:
            outcome = crowd.call(partial(self._function.here, block, numbers, room, place))
            self._look_at(crowd)
            return outcome
        if self._settled or not self._measuring.acquire(blocking=False):
            return self._function.here(block, numbers, room, place)
        try:
            return self._measure(block, numbers, room, place)
        finally:
            self._measuring.release()

    def _look_at(self, crowd: Crowd) -> None:
        """Go to worker processes after all, where threads wait for one another."""
        if not crowd.known:
            return
        with self._measuring:
            if self._crowd is not crowd:
                return
            self._crowd = None
            if not crowd.waits:
                self._stay_here(self._said)
            else:
                why = f"in threads its calls wait for one another for {1 - crowd.share:.0%} of their time"
                self._prefer_processes(why)

    def _measure(self, block: Block, numbers: NDArray[np.int64], room: int, place: int) -> Outcome:
        call = partial(self._function.here, block, numbers, room, place)
        if self._later is not None:
            return self._after_first(call, *self._later)
        if not self._function.why:
            return self._measure_over_block(call, block)
        taken = self._taken
        probe = taken.last > NOTICED and taken.probed < MEASURED and self._cores > 1
        outcome = taken.call(call, block, probe=probe)
        if self._cores == 1:
            self._say(THREADS, "there is one core")
        elif taken.probed >= MEASURED:
            self.alone, gains = worth.holds_lock(taken), worth.gained(taken, self._cores)
            if gains and (taken.each >= HEAVY or taken.busy >= LONG):
                self._prefer_processes(self._said, patient=True)
            elif not gains and not self.alone:
                self._stay()
        else:  # until then others would hold up these calls, and be taken for them
            soon = taken.last < LONG and taken.busy < ONE_THREAD
            self.alone = taken.computes and taken.last > NOTICED and soon
        return outcome

    def _measure_over_block(self, call: Callable[[], Outcome], block: Block) -> Outcome:
        if self._cores == 1:
            self._settled = True
            return call()
        later = has_images(block) or bool(self._function.missed)
        if later and not loading.ready() and self._context.ledger.budget >= loading.ENOUGH:
            return call()  # with compiled kernels it will be another matter
        if self._begun < FIRST:
            first = Taken()
            outcome = first.call(call, block, probe=False)
            self._begun += outcome.used
            self.alone = first.each > HEAVY  # what others hold is not to be taken for its own
            return outcome
        taken = self._taken
        heavy = taken.each >= HEAVY
        outcome = taken.call(call, block, probe=heavy and taken.last > LONG_ENOUGH)
        self._looks += 1
        if taken.probed >= OFTEN * MEASURED:
            if worth.gained(taken, self._cores):
                self._prefer_processes(self._said)
            else:
                self._stay()
        elif self._looks >= LOOKS or (taken.each < HEAVY and taken.busy >= MEASURED):
            self._settled, self.alone = True, False
        return outcome

    @property
    def _called(self) -> list[Callable[..., Any]]:
        return [function.function for function in self._function.functions]

    def _first_before_workers(self, each: float) -> bool:
        """Whether the first rows that were asked for are to be there before worker processes are started."""
        portions = self._portions
        return portions.among_first and worth.soon(portions.first_left, each)

    @property
    def _taken(self) -> Taken:
        """What calls took so far, in all runs; those over blocks and those row by row each by themselves."""
        taken: Taken = self._function.learned.measured.setdefault(bool(self._function.why), Taken())
        return taken

    @property
    def _said(self) -> str:
        taken = self._taken
        computes = f"computes for {taken.each * 1000:.2g} ms an element"
        return f"it {computes}, and holds Python's lock (the GIL) for {taken.held:.0%} of that"

    def _prefer_processes(self, said: str, *, patient: bool = False) -> None:
        """Go to worker processes; if `patient`, once the first rows are there: they would be held up."""
        if not self._pays(self._taken.each):
            if not self._function.why:
                self._settled, self.alone = True, False
            return
        why = effects(self._called)
        if why:
            self._stay_here(f"{said}, but {why}")
        elif (patient and self._first_before_workers(self._taken.each)) or self._use_workers(said):
            self._learn(PROCESSES, said)

    def _stay(self) -> None:
        """Make the calls on threads, and watch them for a while if there are many."""
        if self._cores > worth.FEW:
            self._crowd = Crowd(self._taken.share)
            self._say(THREADS, self._said)
        else:
            self._stay_here(self._said)

    def _learn(self, who: str, why: str) -> None:
        self._function.learned.called = who, why, self._taken.each
        self._function.learned.row_by_row = self._function.why

    def _stay_here(self, why: str) -> None:
        """Make the calls on threads, in later runs too."""
        self._learn(THREADS, why)
        self._say(THREADS, why)

    def _pays(self, each: float) -> bool:
        """Whether enough is left to do."""
        length, begun = self._context.node.op.cardinality, self._portions.begun
        return worth.enough_left(length - begun if length >= 0 else -1, self._function.learned.rows, each)

    def _use_workers(self, why: str) -> bool:
        """Have calls made in worker processes as soon as there are some; whether that can be."""
        try:
            from penstock.engine.processes.serving import serving  # importing Penstock is quick

            with serving.starting():  # which takes longer than to load this
                from penstock.engine.processes.calls import Workers

                # What it takes is known from an earlier run: without that, one result comes first.
                guesses = self._in_order and bool(self._function.why and self._function.learned.nbytes)
                self._workers = Workers(self._context, self._function, guesses=guesses)
        except (PenstockError, OSError) as error:
            if self._asked:
                raise
            said = f"worker processes cannot be used: {error}"
            if isinstance(error, BudgetError | OSError):  # next time there may be room
                self._say(THREADS, said)
            else:
                self._stay_here(said)
            return False
        if self._asked:
            self._function.calls = self._workers
        self._function.larger = self._larger
        self._say(f"{THREADS} until there are {PROCESSES}", why)
        self._to_say = why
        return True

    def _larger(self) -> int:
        """How many times as large as others blocks for worker processes are."""
        if self._workers is None:
            return 1
        return worth.larger(self._cores, self._context.ledger.shared.share // self._context.block_bytes)

    def _do_without(self, error: PenstockError | OSError) -> None:
        """Go on with threads, as nobody asked for worker processes."""
        if self._asked:
            raise error
        self._left, self._workers = self._workers or self._left, None
        self._function.learned.called = None  # a later run tries again
        self._say(THREADS, f"worker processes could not be used: {error}")

    def _say(self, who: str, why: str) -> None:
        self._settled = True
        self.alone = False
        self._to_say = ""
        if why:
            with suppress(ValueError):
                self._context.meter.notes.remove(self._noted)  # what was said before holds no more
            self._noted = f"called in {who}: {why}"
            self._context.note(self._noted)

    def close(self) -> None:
        """End the workers, and leave the function alone."""
        self._function.calls, self._function.larger = None, lambda: 1
        self._function.learned.rows += self._portions.begun
        for workers in (self._workers, self._left):
            if workers is not None:
                self._function.learned.seconds = workers.row_seconds or self._function.learned.seconds
                workers.close()
