"""Whether the calls of a map are to go to worker processes: as measured on the first rows.

Until that is known they are made here, and then are made wherever it is decided.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from penstock.blocks.block import Block
from penstock.blocks.later import has_images
from penstock.engine import worth
from penstock.engine.context import StageContext
from penstock.engine.crowd import Crowd
from penstock.engine.portions import Portions
from penstock.engine.taken import Taken
from penstock.functions.effects import effects
from penstock.functions.plain_rows import Outcome
from penstock.functions.row_function import RowFunction
from penstock.kernels import loading

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

Call = Callable[[], Outcome]


class Choice:
    """Measures calls that are made here, and says when they are to go to worker processes instead."""

    def __init__(
        self,
        context: StageContext,
        function: RowFunction,
        cores: int,
        portions: Portions,
        use_workers: Callable[[str], bool],
        say: Callable[[str, str], None],
    ) -> None:
        """`use_workers` has calls made there, for a reason, and tells whether that can be; `say` notes who is
        called, and why."""
        self._context = context
        self._function = function
        self._cores = cores
        self._portions = portions
        self._use_workers = use_workers
        self._say = say
        self._measuring = threading.Lock()
        self._crowd: Crowd | None = None
        """Calls on threads that are watched, whether they wait for one another."""
        self._later: tuple[str, float] | None = None
        """Why calls are to go to worker processes after the first rows, and what a row takes."""
        self._begun = self._looks = 0
        self._settled = False
        self.alone = False
        """Whether calls on several threads would only wait for one another."""

    def settle(self) -> None:
        """It is decided: nothing is measured any more."""
        self._settled, self.alone = True, False

    def as_before(self) -> None:
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

    def make(self, call: Call, block: Block) -> Outcome:
        """Make a call with the rows of a block here, with an eye on what it costs."""
        crowd = self._crowd
        if crowd is not None:
            outcome = crowd.call(call)
            self._look_at(crowd)
            return outcome
        if self._settled or not self._measuring.acquire(blocking=False):
            return call()
        try:
            return self._measure(call, block)
        finally:
            self._measuring.release()

    def stay_here(self, why: str) -> None:
        """Make the calls on threads, in later runs too."""
        self._learn(THREADS, why)
        self._say(THREADS, why)

    def close(self) -> None:
        """Forget whoever makes the calls: each would keep the other until the collector comes by."""
        self._use_workers, self._say = lambda _: False, lambda *_: None

    def _look_at(self, crowd: Crowd) -> None:
        """Go to worker processes after all, where threads wait for one another."""
        if not crowd.known:
            return
        with self._measuring:
            if self._crowd is not crowd:
                return
            self._crowd = None
            if not crowd.waits:
                self.stay_here(self._said)
            else:
                why = f"in threads its calls wait for one another for {1 - crowd.share:.0%} of their time"
                self._prefer_processes(why)

    def _measure(self, call: Call, block: Block) -> Outcome:
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

    def _after_first(self, call: Call, why: str, each: float) -> Outcome:
        """Make a call here of a function that is to go to worker processes, once the first rows are there."""
        outcome = call()
        if not self._first_before_workers(each):
            self._use_workers(why)
        return outcome

    def _measure_over_block(self, call: Call, block: Block) -> Outcome:
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
            self.settle()
        return outcome

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
                self.settle()
            return
        why = effects(self._function.users_own)
        if why:
            self.stay_here(f"{said}, but {why}")
        elif (patient and self._first_before_workers(self._taken.each)) or self._use_workers(said):
            self._learn(PROCESSES, said)

    def _stay(self) -> None:
        """Make the calls on threads, and watch them for a while if there are many."""
        if self._cores > worth.FEW:
            self._crowd = Crowd(self._taken.share)
            self._say(THREADS, self._said)
        else:
            self.stay_here(self._said)

    def _learn(self, who: str, why: str) -> None:
        self._function.learned.called = who, why, self._taken.each
        self._function.learned.row_by_row = self._function.why

    def _pays(self, each: float) -> bool:
        """Whether enough is left to do."""
        length, begun = self._context.node.op.cardinality, self._portions.begun
        return worth.enough_left(length - begun if length >= 0 else -1, self._function.learned.rows, each)
