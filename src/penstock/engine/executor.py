"""Where the calls of a map are made: as the user says, or as `engine/choice.py` has it.

Whether a function is called over whole blocks or row by row is no matter of time: the function and the spec
decide (`functions/row_function.py`). Either is done on threads here or in worker processes.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.engine import worth
from penstock.engine.cancel import Cancelled
from penstock.engine.choice import PROCESSES, THREADS, Choice
from penstock.engine.context import StageContext
from penstock.engine.portions import Portions
from penstock.errors import BudgetError, ElementError, PenstockError
from penstock.functions.effects import effects
from penstock.functions.plain_rows import Outcome
from penstock.functions.row_function import RowFunction

if TYPE_CHECKING:
    from penstock.engine.processes.calls import Workers


class Executor:
    """Has calls made, here or in worker processes, and ends whoever it started."""

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
        self._noted = self._to_say = ""
        self._choice = Choice(context, function, cores, portions, self._use_workers, self._say)
        context.begun.append(self.close)  # what comes now may be interrupted
        if function.executor != "auto":
            self._choice.settle()
        if self._asked:
            self._use_workers("")
        if function.executor == "auto":
            function.calls = self
            self._choice.as_before()

    @property
    def alone(self) -> bool:
        """Whether calls on several threads would only wait for one another."""
        return self._choice.alone

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
            if self._asked and not self._served and (why := effects(self._function.users_own)):
                self._context.note(f"{why}: each worker process has its own, of which nothing is seen here")
            self._served = True
        except Cancelled:
            raise
        except (PenstockError, OSError) as error:  # too many files are open, say
            self._do_without(error)

    def nearly_over(self, left: int) -> None:
        """All rows have been taken in, and so many blocks are still worked on: there may be a core free."""
        workers = self._workers
        if workers is not None and left < self._cores:
            workers.nearly_over()

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
        return self._choice.make(partial(self._function.here, block, numbers, room, place), block)

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
                self._choice.stay_here(said)
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
        self._choice.settle()
        self._to_say = ""
        if why:
            with suppress(ValueError):
                self._context.meter.notes.remove(self._noted)  # what was said before holds no more
            self._noted = f"called in {who}: {why}"
            self._context.note(self._noted)

    def close(self) -> None:
        """End the workers, and leave the function alone."""
        self._choice.close()
        self._function.calls, self._function.larger = None, lambda: 1
        self._function.learned.rows += self._portions.begun
        for workers in (self._workers, self._left):
            if workers is not None:
                self._function.learned.seconds = workers.row_seconds or self._function.learned.seconds
                workers.close()
