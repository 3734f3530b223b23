"""Calls in worker processes, as `RowFunction.apply`: workers that die are replaced, and their rows redone."""

from __future__ import annotations

import pickle
import threading
from collections import deque
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.engine.cancel import Cancelled
from penstock.engine.guesses import Undecided
from penstock.engine.processes.lending import Lending
from penstock.engine.processes.link import Link
from penstock.engine.processes.lost import TRIES, Losses, WorkerLost
from penstock.engine.processes.serving import SPARES, serving
from penstock.engine.processes.slab import NO_ROW, STEP, Laid, Laying, Slab, copied, lying, slab_bytes
from penstock.engine.processes.starting import Functions
from penstock.engine.processes.travel import dumps, dumps_with
from penstock.engine.processes.wire import Found, Hangup, How, Unreadable
from penstock.engine.stage import StageContext
from penstock.errors import BudgetError, PenstockError
from penstock.functions.plain_rows import Outcome
from penstock.functions.row_function import RowFunction
from penstock.memory.sizes import show_bytes


class Workers:
    """Calls functions in worker processes: one for each thread that calls `apply` at the same time.

    What cannot go there (no room for a slab, rows that cannot be pickled) is called here: the results are
    the same.
    """

    def __init__(self, context: StageContext, function: RowFunction, *, guesses: bool = False) -> None:
        """With `guesses`, several calls may be made before it is known what results look like."""
        self._context = context
        self._where = function.functions[-1].where
        self._function = function
        self._plain = function.plain
        self.guesses = guesses
        self._thread = threading.local()
        """Of each thread, whether it works on rows before their turn (`ahead`)."""
        self._timeout = context.options.worker_timeout
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        """A worker is idle, or gone, or all are to end."""
        self._idle: list[Link] = []
        self._begun: deque[Link] = deque()
        """Those that are getting ready, and for which nobody waits yet."""
        self._links: set[Link] = set()
        self._threads = 0
        """How many threads have had a worker made ready for them."""
        self._reserved = 0
        self._ending = self._closed = False
        self._deaths: dict[int, list[str]] = {}
        """By the number of an element: the workers that were lost when they were at it."""
        self.row_seconds = 0.0
        """How long a call took that was made last, the way there and back not counted."""
        self._blocks_lost = 0
        """Workers that were lost with a whole block, at nobody knows which row."""
        self._losses = Losses(context.meter, self._where, function.functions[-1].label)
        serving.use()
        try:
            hooks = (self._born, self._slabs, self._drop)
            self._functions = Functions(function, self._where, self._reserve_all, *hooks)
        except BaseException:
            self._release(self._reserved)
            serving.leave()
            raise
        self._lending = Lending(context.ledger, context.account)
        self._unhook = context.on_close(self._kill)

    @property
    def near(self) -> bool:
        """Whether workers are about to be ready, so that it is worth waiting for them."""
        return self._functions.near

    def begin(self, count: int) -> None:
        """Have up to so many workers begin to get ready, if that takes no time; `prepare` waits for them."""
        count = min(count, SPARES) - len(self._begun)
        if not self.near or count <= 0:
            return
        with suppress(WorkerLost, PenstockError, OSError):  # who needs one finds out what is wrong
            begun = self._functions.begin(lambda: self._ending, count)
            with self._changed:
                self._begun.extend(begun)
                self._changed.notify_all()

    def prepare(self) -> None:
        """Have a worker ready that nobody uses, for this thread. One that is lost at once is none."""
        self._thread.ahead = True
        try:
            link = self._start()
        except WorkerLost:
            self._check()
        else:
            self._give(link)
        finally:
            with self._lock:
                self._threads += 1

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
                self._check()  # it was killed because the run ends
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
        link = self._take()
        whole = False
        try:
            answer = self._ask(link, laying, numbers, how)
            whole = not isinstance(answer, Unreadable)  # it has not heard what else it was told
        finally:
            if whole:
                self._give(link)
            else:
                self._drop(link)
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
        if not self._fit(link, "given", slab_bytes(laid.nbytes + numbers.nbytes)):
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
            if not self._fit(link, "made", answer[1]):
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
            self._new_slab(link)
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
        raw = None if any(made.objects) else self._lending.lend(link, made.nbytes)
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

    def _take(self) -> Link:
        with self._changed:
            self._check()
            # Who has none of its own borrows one of those that threads have: there are to be no more.
            while not self._idle and len(self._links) - len(self._begun) >= max(1, self._threads):
                self._changed.wait()
                self._check()
            if self._idle:
                return self._idle.pop()
        return self._start()

    def _start(self) -> Link:
        begun = None
        try:
            with suppress(IndexError):  # other threads start workers at the same time
                begun = self._begun.popleft()
            link = self._functions.start(lambda: self._ending, begun)
        except Hangup:
            self._check()
            raise
        try:
            self._check()
        except BaseException:
            self._drop(link)
            raise
        return link

    def _born(self, link: Link) -> None:
        with self._lock:
            self._links.add(link)
        self._lending.begin(link)
        if self._ending:
            link.kill()

    def _slabs(self, link: Link) -> None:
        if self._reserve(2 * STEP):
            # They are the link's before it is told: it may be lost by now, and gives back what it has.
            try:
                link.given = Slab.make(STEP)
                link.made = link.untold(STEP)
            except BaseException:
                self._release(STEP * ((link.given is None) + (link.made is None)))
                raise
            link.tell(link.made)
            self._tell_given(link.given, link)

    def _tell_given(self, given: Slab, link: Link) -> None:
        link.send(("given", given.size), (given.descriptor,))

    def _new_slab(self, link: Link) -> None:
        assert link.given is not None
        size = link.given.size
        link.given.close()
        link.given = Slab.make(size)
        self._tell_given(link.given, link)

    def _fit(self, link: Link, which: str, size: int) -> bool:
        """Whether a slab has that many bytes, having grown if the budget has room."""
        if link.given is None:
            self._slabs(link)
        slab: Slab | None = getattr(link, which)
        if slab is None:
            return False
        if slab.size >= size:
            return True
        if not self._reserve(size - slab.size):
            return False
        was = slab.size
        try:
            slab.grow(size)
        except BaseException:
            self._release(size - was)
            raise
        return True

    def _give(self, link: Link) -> None:
        with self._lock:
            if not self._ending:
                self._idle.append(link)
                self._changed.notify()
                return
        self._drop(link)

    def _drop(self, link: Link) -> None:
        link.kill()
        with self._lock:
            known = link in self._links
            self._links.discard(link)
            self._changed.notify_all()
        if known:
            self._lending.end(link)
            self._release(link.close())

    def _reserve(self, size: int) -> bool:
        if not self._context.account.request(size):
            return False
        self._reserved += size
        return True

    def _reserve_all(self, size: int) -> None:
        if not self._reserve(size):
            raise BudgetError(
                f"{self._where}: what the function refers to takes {show_bytes(size)} in memory shared with "
                f"worker processes, which the memory budget has no room for. Raise the budget, use "
                f"executor='threads', or open such arrays from a file inside the function (np.load with "
                f"mmap_mode='r')."
            )

    def _release(self, size: int) -> None:
        self._reserved -= size
        self._context.account.release(size)

    def _check(self) -> None:
        if self._ending:
            raise Cancelled("the run was closed")

    def _kill(self) -> None:
        """The run ends: nobody waits for a worker any more."""
        self._ending = True
        with self._lock:
            links = list(self._links)
            self._changed.notify_all()
        for link in links:
            link.kill()

    def close(self) -> None:
        """End all workers."""
        if self._closed:
            return
        self._closed = True
        self._kill()
        with self._lock:
            links = list(self._links)
            self._idle.clear()
        for link in links:
            self._drop(link)
        self._functions.close()
        self._release(self._functions.nbytes)
        self._lending.close()
        self._unhook()
        serving.leave()
