"""A second thread for one piece of work: half of it is done there, the other half by who asks."""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue

from penstock.engine.aside import Aside, end_all
from penstock.engine.cores import usable_cores
from penstock.kernels.halves import Half, one_by_one


class Beside:
    """Does two works side by side, where a second core is granted and its thread is free.

    The works are compiled loops that let go of the GIL, of which nobody else is to see the thread.
    """

    def __init__(self, run: object) -> None:
        self._run = run
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._aside: Aside | None = None
        self._works: SimpleQueue[Half | None] = SimpleQueue()
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()  # None where all went well
        self._alone = False

    def both(self, first: Half, second: Half) -> None:
        """Do both works; the first one here."""
        # A forked child has no second thread, and may have found the lock taken.
        if self._alone or os.getpid() != self._process or not self._turn.acquire(blocking=False):
            one_by_one(first, second)
            return
        try:
            self._side_by_side(first, second)
        finally:
            self._turn.release()

    def _side_by_side(self, first: Half, second: Half) -> None:
        if self._aside is None:
            if usable_cores() < 2:
                self._alone = True
                one_by_one(first, second)
                return
            self._aside = Aside(self._run, "penstock-beside", self._help)
        self._works.put(second)
        try:
            first()
        finally:
            failed = self._wait()
        if failed is not None:
            raise failed

    def _wait(self) -> BaseException | None:
        """Wait for the other half, whatever comes in between: it writes where nobody else may meanwhile."""
        try:
            return self._done.get()
        except BaseException:
            self._done.get()
            raise

    def _help(self) -> None:
        while (work := self._works.get()) is not None:
            try:
                work()
            except BaseException as error:  # raised again by who waits
                self._done.put(error)
            else:
                self._done.put(None)
            del work

    def close(self) -> None:
        """End the thread; nobody asks any more."""
        self._alone = True
        if self._aside is not None and os.getpid() == self._process:
            self._works.put(None)
            end_all([self._aside], lambda: None)
