"""Where a run may be taken apart: never in the middle of another one's work on the same thread.

An iterator can die at any allocation, when the garbage collector comes by: also while its thread holds
the lock of a log that the dying run shares. So what works for a run says so (`inside`, `at_work_for`),
and a run that dies meanwhile is left to a short-lived thread.
"""

from __future__ import annotations

import atexit
import sys
import threading
from _thread import interrupt_main
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

AT_EXIT = 5.0
"""Seconds that the end of the process waits for runs that are just being closed."""


class _Here(threading.local):
    """What the current thread is doing."""

    run: object = None

    def __init__(self) -> None:
        self.lock: Any = threading.RLock()
        """Held by this thread alone, for as long as it is inside: a counter would be wrong after Ctrl-C."""


_here = _Here()


def inside() -> Any:
    """`with inside():` round everything that takes a lock of Penstock."""
    return _here.lock


def is_inside() -> bool:
    """Whether the current thread is."""
    return bool(_here.lock._is_owned())


class Ends:
    """What is to be ended, the last first. An interrupt leaves the rest, to be made later."""

    def __init__(self) -> None:
        self._left: list[Callable[[], None]] = []
        self.begun = False
        """Whether somebody has begun to make them."""

    @property
    def made(self) -> bool:
        """Whether nothing is left."""
        return self.begun and not self._left

    def add(self, end: Callable[[], None]) -> None:
        """Have this ended before all others so far."""
        self._left.append(end)

    def make(self) -> None:
        """Make them; one that fails stops none of the others, one that is interrupted is made again."""
        self.begun = True
        failed: Exception | None = None
        while self._left:
            end = self._left[-1]
            try:
                end()
            except Exception as error:
                failed = failed or error
            self._left.pop()
        if failed is not None:
            try:
                raise failed
            finally:
                del failed  # an error that is a variable of its own frame would keep it alive


class Endings:
    """Ends that could not be made on the spot."""

    def __init__(self) -> None:
        self.waiting: deque[Callable[[], None]] = deque()
        self._helper: threading.Thread | None = None

    def dropped(self, close: Callable[[], None]) -> None:
        """Nobody has the iterator any more: close its run, here if that is safe.

        Python drops what is raised here. So where Ctrl-C comes in the middle, the rest is done elsewhere, and
        then it comes once more.
        """
        if is_inside():
            self.later(close)
            return
        try:
            close()
        except KeyboardInterrupt:
            self.later(close)
            self.later(interrupt_main)

    def later(self, close: Callable[[], None]) -> None:
        """Call `close` soon, on a thread that is inside nothing. Takes no lock that is not reentrant."""
        self.waiting.append(close)
        if self.has_helper():
            return
        # A daemon: to start another kind, `threading` takes a lock that this thread may hold.
        helper = threading.Thread(target=self._help, name="penstock-endings", daemon=True)
        try:
            helper.start()
        except RuntimeError:  # no more threads: whoever is done first with what it does works it off
            return
        self._helper = helper

    def left(self) -> None:
        """The current thread may not be inside any more: make the ends that wait, if nobody else does."""
        if self.waiting and not is_inside() and not self.has_helper():
            self.work_off()

    def has_helper(self) -> bool:
        """Whether a thread is there that works off what waits."""
        return self._helper is not None and self._helper.is_alive()

    def work_off(self) -> None:
        """Make the ends that wait."""
        with inside():
            while self.waiting:
                try:
                    close = self.waiting.popleft()
                except IndexError:  # another thread was faster
                    return
                try:
                    close()
                except Exception:  # there is nobody to raise it to
                    sys.excepthook(*sys.exc_info())

    def _help(self) -> None:
        while True:
            self.work_off()
            # What is added from here on finds no helper, and starts one; what was added before is here.
            self._helper = None
            if not self.waiting:
                return
            self._helper = threading.current_thread()

    def finish(self) -> None:
        """The process ends."""
        helper = self._helper
        if helper is not None:
            helper.join(AT_EXIT)
        self.work_off()


endings = Endings()
atexit.register(endings.finish)


@contextmanager
def at_work_for(run: object) -> Iterator[None]:
    """Round all that a thread of a run's own does."""
    before, _here.run = _here.run, run
    try:
        with inside():
            yield
    finally:
        _here.run = before
        endings.left()


def works_for(run: object) -> bool:
    """Whether the current thread is one of `run`'s own."""
    return _here.run is run
