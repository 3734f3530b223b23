"""The workers of a run: made ready, taken by threads that make calls, given back, and ended with the run."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from time import monotonic

from penstock.engine.cancel import Cancelled
from penstock.engine.context import StageContext
from penstock.engine.processes.lending import Lending
from penstock.engine.processes.link import SWEPT, Link
from penstock.engine.processes.lost import WorkerLost
from penstock.engine.processes.serving import SPARES, serving
from penstock.engine.processes.slab_room import SlabRoom
from penstock.engine.processes.starting import Functions
from penstock.engine.processes.wire import Hangup
from penstock.errors import PenstockError
from penstock.functions.row_function import RowFunction


class Staff:
    """A worker for each thread that had one made ready; other threads borrow one of these."""

    def __init__(self, context: StageContext, function: RowFunction, where: str) -> None:
        self.room = SlabRoom(context.account, where)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        """A worker is idle, or gone, or all are to end."""
        self._idle: list[Link] = []
        self._begun: deque[Link] = deque()
        """Those that are getting ready, and for which nobody waits yet."""
        self._links: set[Link] = set()
        self._threads = 0
        """How many threads have had a worker made ready for them."""
        self._over = self._ending = self._closed = False
        serving.use()
        try:
            hooks = (self._born, self.room.furnish, self.drop)
            self.functions = Functions(function, where, self.room.reserve_functions, *hooks)
        except BaseException:
            self.room.release_all()
            serving.leave()
            raise
        self.lending = Lending(context.ledger, context.account)
        self._unhook = context.on_close(self._kill)

    @property
    def near(self) -> bool:
        """Whether workers are about to be ready, so that it is worth waiting for them."""
        return self.functions.near

    def begin(self, count: int) -> None:
        """Have up to so many workers begin to get ready, if that takes no time; `prepare` waits for them."""
        count = min(count, SPARES) - len(self._begun)
        if not self.near or count <= 0:
            return
        with suppress(WorkerLost, PenstockError, OSError):  # who needs one finds out what is wrong
            begun = self.functions.begin(lambda: self._ending, count)
            with self._lock:
                self._begun.extend(begun)
                self._changed.notify_all()

    def prepare(self) -> None:
        """Have a worker ready that nobody uses, for one more thread. One that is lost at once is none."""
        try:
            link = self._start()
        except WorkerLost:
            self.check()
        else:
            self.give(link)
        finally:
            with self._lock:
                self._threads += 1

    def nearly_over(self) -> None:
        """Have workers get ready for the next epoch: those that are here leave a core free."""
        if not self._over:
            self._over = True
            serving.nearly_over()

    def take(self) -> Link:
        """A worker that nobody uses; waits for one."""
        with self._lock:
            self.check()
            # Who has none of its own borrows one of those that threads have: there are to be no more.
            while not self._idle and len(self._links) - len(self._begun) >= max(1, self._threads):
                self._changed.wait()
                self.check()
            if self._idle:
                return self._idle.pop()
        return self._start()

    def _start(self) -> Link:
        begun = None
        try:
            with suppress(IndexError):  # other threads start workers at the same time
                begun = self._begun.popleft()
            link = self.functions.start(lambda: self._ending, begun)
        except Hangup:
            self.check()
            raise
        try:
            self.check()
        except BaseException:
            self.drop(link)
            raise
        return link

    def _born(self, link: Link) -> None:
        with self._lock:
            self._links.add(link)
        self.lending.begin(link)
        if self._ending:
            link.kill()

    def give(self, link: Link) -> None:
        """A worker that was taken is not needed any more."""
        with self._lock:
            if not self._ending:
                self._idle.append(link)
                self._changed.notify()
                return
        self.drop(link)

    def drop(self, link: Link, until: float | None = None) -> None:
        """End a worker: it is of no use. `until` says how long the server is waited for."""
        link.kill()
        with self._lock:
            known = link in self._links
            self._links.discard(link)
            self._changed.notify_all()
        if known:
            self.lending.end(link)
            self.room.release(link.close(until))

    def check(self) -> None:
        """Raise `Cancelled` where the run ends: then workers are lost because they were ended."""
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
        until = monotonic() + SWEPT
        for link in links:
            self.drop(link, until)
        self.functions.close()
        self.room.release(self.functions.nbytes)
        self.lending.close()
        self._unhook()
        serving.leave()
