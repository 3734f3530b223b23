"""A second thread for one piece of work: half of it is done there, the other half by who asks."""

from __future__ import annotations

import os
import threading
from queue import SimpleQueue

from penstock.engine.aside import Aside, end_all
from penstock.engine.cores import usable_cores
from penstock.kernels.halves import Half, one_by_one


class _Other:
    """The half that another thread may do: whoever begins it first does it, once."""

    def __init__(self, half: Half) -> None:
        self._half = half
        self._begun, self._over = threading.Lock(), threading.Lock()
        self._over.acquire()
        self._done = False
        self.error: BaseException | None = None

    def do(self) -> None:
        """Do it, unless somebody has begun."""
        if not self._begun.acquire(blocking=False):
            return
        try:
            self._half()
        except BaseException as error:  # raised again by who waits
            self.error = error
        finally:
            self._done = True
            self._over.release()

    def wait(self) -> None:
        """Wait for its end, whatever comes in between: it writes where nobody else may meanwhile."""
        interrupted: BaseException | None = None
        while not self._done:
            try:
                self._over.acquire()
            except BaseException as error:  # it is not over yet
                interrupted = error
        if interrupted is not None:
            try:
                raise interrupted
            finally:
                del interrupted  # an error that is a variable of its own frame would keep it alive


class Beside:
    """Does two works side by side, where a second core is granted and its thread is free.

    The works are compiled loops or reads of files, which let go of the GIL and share nothing.
    """

    def __init__(self, run: object) -> None:
        self._run = run
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._aside: Aside | None = None
        self._works: SimpleQueue[_Other | None] = SimpleQueue()
        self._alone = False

    def both(self, first: Half, second: Half) -> None:
        """Do both works; the first one here."""
        # A forked child has no second thread, and may have found the lock taken.
        if self._alone or os.getpid() != self._process or not self._turn.acquire(blocking=False):
            one_by_one(first, second)
            return
        try:
            if self._has_thread():
                self._side_by_side(first, second)
            else:
                one_by_one(first, second)
        finally:
            self._turn.release()

    def _has_thread(self) -> bool:
        if self._aside is None:
            self._alone = usable_cores() < 2
            if not self._alone:
                try:
                    self._aside = Aside(self._run, "penstock-beside", self._help)
                except RuntimeError:  # no more threads are to be had
                    self._alone = True
        return not self._alone

    def _side_by_side(self, first: Half, second: Half) -> None:
        other = _Other(second)
        self._works.put(other)
        try:
            first()
        finally:
            other.do()
            other.wait()
        error, other.error = other.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error

    def _help(self) -> None:
        while (other := self._works.get()) is not None:
            other.do()
            del other

    def close(self) -> None:
        """End the thread; nobody asks any more."""
        self._alone = True
        self._works.put(None)
        if self._aside is not None and os.getpid() == self._process:
            end_all([self._aside], lambda: None)
