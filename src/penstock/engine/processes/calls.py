"""Calls in worker processes, as `RowFunction.apply`: workers that die are replaced, and their rows redone."""

from __future__ import annotations

import pickle
import threading
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.engine.context import StageContext
from penstock.engine.guesses import Undecided
from penstock.engine.processes.link import Link
from penstock.engine.processes.lost import TRIES, Losses, WorkerLost
from penstock.engine.processes.slab import NO_ROW, Laid, Laying, copied, lying, slab_bytes
from penstock.engine.processes.staff import Staff
from penstock.engine.processes.travel import dumps, dumps_with
from penstock.engine.processes.wire import Found, How, Unreadable
from penstock.functions.plain_rows import Outcome
from penstock.functions.row_function import RowFunction


class Workers:
    """Calls functions in worker processes: one for each thread that calls `apply` at the same time.

    What cannot go there (no room for a slab, rows that cannot be pickled) is called here: the results are
    the same.
    """

    def __init__(self, context: StageContext, function: RowFunction, *, guesses: bool = False) -> None:
        """With `guesses`, several calls may be made before it is known what results look like."""
        self._context = context
        self._function = function
        self._plain = function.plain
        self.guesses = guesses
        self._thread = threading.local()
        """Of each thread, whether it works on rows before their turn (`ahead`)."""
        self._timeout = context.options.worker_timeout
        self._deaths: dict[int, list[str]] = {}
        """By the number of an element: the workers that were lost when they were at it."""
        self.row_seconds = 0.0
        """How long a call took that was made last, the way there and back not counted."""
        self._blocks_lost = 0
        """Workers that were lost with a whole block, at nobody knows which row."""
        last = function.functions[-1]
        self._losses = Losses(context.meter, last.where, last.label)
        self._staff = Staff(context, function, last.where)
        self._room, self._functions = self._staff.room, self._staff.functions

    @property
    def near(self) -> bool:
        """Whether workers are about to be ready, so that it is worth waiting for them."""
        return self._staff.near

    def begin(self, count: int) -> None:
        """Have up to so many workers begin to get ready, if that takes no time; `prepare` waits for them."""
        self._staff.begin(count)

    def prepare(self) -> None:
        """Have a worker ready that nobody uses, for this thread. One that is lost at once is none."""
        self._thread.ahead = True
        self._staff.prepare()

    def nearly_over(self) -> None:
        """Have workers get ready for the next epoch: those that are here leave a core free."""
        self._staff.nearly_over()

    def apply(self, block: Block, numbers: NDArray[np.int64], room: int, place: int) -> Outcome:
        """As `RowFunction.apply`."""
        part, tries, servers = block, 0, 0
        row_by_row = bool(self._function.why) or self._blocks_lost >= TRIES
        while True:
            deaths = self._deaths.get(int(numbers[0]), [])
            if len(deaths) >= TRIES:
                return Outcome(None, 1, self._losses.failure(deaths[-1], int(numbers[0])))
            try:
                how = How(room, place, row_by_row, self._function.row_bytes)
                outcome = self._call(part, numbers[: part.rows], how)
            except WorkerLost as lost:
                self._staff.check()  # it was killed because the run ends
                if lost.row == NO_ROW:  # the next one says which row it is lost at
                    row_by_row = True
                    self._blocks_lost += 1
                    self._losses.say(lost, None, numbers[: part.rows])
                    continue
                row = min(max(lost.row, 0), part.rows - 1)
                number = int(numbers[row])
                if not lost.by_itself and servers < TRIES:
                    servers += 1
                    self._losses.say(lost, None, numbers[: part.rows])
                    continue
                tries += 1
                self._losses.say(lost, number, numbers[: part.rows])
                deaths = self._deaths.setdefault(number, [])
                deaths.append(str(lost))  # and not the error, whose frames hold the block
                if len(deaths) >= TRIES:
                    part = part.slice(0, max(row, 1))
                elif tries >= TRIES:  # no row in particular: fewer at a time, down to one
                    part, tries = part.slice(0, max(1, part.rows // 2)), 0
                continue
            for number in numbers[: outcome.used].tolist() if self._deaths else ():
                self._deaths.pop(number, None)
            if block.numbers is not None and outcome.block is not None:
                outcome.block.numbers = numbers[: outcome.block.rows]
            return outcome

    def _call(self, block: Block, numbers: NDArray[np.int64], how: How) -> Outcome:
        """One try with one worker; another one where it cannot load what elements are of."""
        known = frozenset(self._functions.by_value)
        try:
            laying = Laying(block, partial(dumps, by_value=known))
        except Exception as error:
            return self._here(block, numbers, how, f"elements cannot be pickled: {error}")
        link = self._staff.take()
        whole = False
        try:
            answer = self._ask(link, laying, numbers, how)
            whole = not isinstance(answer, Unreadable)  # it has not heard what else it was told
        finally:
            if whole:
                self._staff.give(link)
            else:
                self._staff.drop(link)
        if isinstance(answer, str):
            return self._here(block, numbers, how, answer)
        if isinstance(answer, Unreadable):
            if self._functions.goes_by_value(answer.module, known):
                return self._call(block, numbers, how)
            return self._here(block, numbers, how, f"elements cannot be loaded there: {answer.said}")
        outcome, found = answer
        self._learn(block, found)
        return outcome

    def _ask(
        self, link: Link, laying: Laying, numbers: NDArray[np.int64], how: How
    ) -> tuple[Outcome, Found] | Unreadable | str:
        """What a worker makes of some rows; or why they are to be done here."""
        laid = laying.laid
        if not self._room.fits(link, "given", slab_bytes(laid.nbytes + numbers.nbytes)):
            return "no room for the slabs of worker processes"
        assert link.given is not None and link.made is not None
        laying.write(link.given)
        link.given.bytes()[laid.nbytes : laid.nbytes + numbers.nbytes].view(np.int64)[:] = numbers
        known = None if link.structured else self._plain.structure
        link.structured = link.structured or known is not None
        dropped = tuple(link.dropped)
        del link.dropped[: len(dropped)]  # others may be told of meanwhile
        made_in = (link.made.number, link.made.size)
        message = ("call", laid, how, known, link.given.size, made_in, dropped)
        link.send(
            message, dumps=dumps_with(frozenset(self._functions.by_value), laid.packed.structure, known)
        )
        timeout = self._timeout
        if timeout is not None and not how.row_by_row:
            timeout *= max(1, len(numbers))  # nobody says at which of the rows it is
        answer = link.receive(timeout)
        if answer[0] == "room":
            if not self._room.fits(link, "made", answer[1]):
                link.send(("refused", 0))
                return "no room for the slabs of worker processes"
            link.send(("grown", link.made.size))
            answer = link.receive(timeout)
        if answer[0] == "unreadable":
            return Unreadable(*answer[1:])
        if answer[0] == "unsendable":
            return f"results cannot be pickled: {answer[1]}"
        return self._received(link, *answer[1:])

    def _received(
        self,
        link: Link,
        used: int,
        made: Any,
        failed: Any,
        raised: Any,
        copies: bool,
        memory: int,
        took: float,
        found: Found,
    ) -> tuple[Outcome, Found]:
        link.memory = memory
        self.row_seconds = took / max(used, 1)
        if copies and not link.copies:
            # The function keeps what it was given: that slab is its own from now on.
            link.copies = True
            self._room.replace_given(link)
        if raised is not None:
            raise raised.error()
        block = None
        if made is not None:
            block = self._block(link, made)
            if self._plain.structure is None and not self._guessing:
                self._plain.structure = block.structure
        return Outcome(block, used, None if failed is None else failed.error()), found

    def _block(self, link: Link, made: Laid) -> Block:
        """The results, where they lie if there is another slab for the worker; else in memory of our own."""
        raw = None if any(made.objects) else self._staff.lending.lend(link, made.nbytes)
        if raw is not None:
            return lying(made, raw, pickle.loads)
        assert link.made is not None
        return copied(lying(made, link.made.bytes(), pickle.loads), made, self._context.empty)

    def _learn(self, block: Block, found: Found) -> None:
        """Take over what a worker has found out, for all of them."""
        if found.why:
            self._function.refused(found.why)
        else:
            self._function.expect(block, found.row_bytes)

    @property
    def _guessing(self) -> bool:
        """Whether nobody knows what results look like, and what is made on this thread does not decide."""
        return self.guesses and self._plain.structure is None and getattr(self._thread, "ahead", False)

    def _here(self, block: Block, numbers: NDArray[np.int64], how: How, why: str) -> Outcome:
        if self._guessing:
            raise Undecided
        self._context.note(f"some calls are made in this process: {why}")
        return self._function.here(block, numbers, how.room, how.place)

    def close(self) -> None:
        """End all workers."""
        self._staff.close()
