"""The token that ends everything a run has started."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Cancelled(BaseException):
    """The run was closed while this stage was at work; never reaches the user.

    No `Exception`, so that a function that catches those does not catch it.
    """


class Cancel:
    """Set once. Set for a part of a run, it leaves the rest alone; set for a whole, it ends the parts.

    `wake` is called when it is set, so that nobody goes on waiting.
    """

    def __init__(self, parent: Cancel | None = None, wake: Callable[[], None] | None = None) -> None:
        self._wake = wake
        self._parts: list[Cancel] = []
        self._parent = parent
        self._lock: threading.RLock = threading.RLock() if parent is None else parent._lock
        self._set = False
        if parent is not None:
            with self._lock:
                parent._parts.append(self)
                self._set = parent._set

    def set(self) -> None:
        """End what listens to this token, and to those below it."""
        with self._lock:
            ending = list(self._all())
            for token in ending:
                token._set = True
            if self._parent is not None and self in self._parent._parts:
                self._parent._parts.remove(self)
        for token in ending:
            wake, token._wake = token._wake, None  # it refers to who made the token, and has done its work
            if wake is not None:
                wake()

    def _all(self) -> list[Cancel]:
        return [self, *(token for part in self._parts for token in part._all())]

    def is_set(self) -> bool:
        """Whether this part of the run, or the whole, is to end."""
        return self._set

    def check(self) -> None:
        """Raise `Cancelled` if it is to end."""
        if self._set:
            raise Cancelled("the run was closed")
