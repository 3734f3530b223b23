"""What is to be done some time after it was last asked for: one thread waits, however often that is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic


class Lingering:
    """Calls `end` so many seconds after `begin`, unless it was stopped before.

    Who begins and stops again and again finds the thread there: to start one would hold up the next run.
    """

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end
        self._lock = threading.RLock()  # in each `with`, and not the condition: decision 0007
        self._changed = threading.Condition(self._lock)
        self._until: float | None = None
        self._looks = 0.0
        self.thread: threading.Thread | None = None

    def begin(self, seconds: float) -> bool:
        """Call `end` then; False where nobody can: no thread is to be had, or the process is ending."""
        with self._lock:
            self._until = monotonic() + seconds
            if self.thread is None:
                thread = threading.Thread(target=self._wait, name="penstock-server", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    self._until = None
                    return False
                self.thread = thread
            elif self._until < self._looks:
                self._changed.notify()
        return True

    def stop(self) -> None:
        """Do not; the thread finds out when it would have."""
        with self._lock:
            self._until = None

    def _wait(self) -> None:
        with self._lock:
            while self._until is not None and (left := self._until - monotonic()) > 0:
                self._looks = self._until
                self._changed.wait(left)
            due, self._until, self.thread = self._until is not None, None, None
        if due:
            self._end()
