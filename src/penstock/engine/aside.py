"""A thread of a run's own, and how it ends: never waited for longer than a second."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from time import monotonic

from penstock.engine.cancel import Cancelled
from penstock.engine.endings import at_work_for
from penstock.errors import PenstockError

GRACE = 0.4
"""Seconds that closing waits for a thread that is busy in a user's function, twice."""


class NoThread(PenstockError, RuntimeError):  # noqa: N818
    """The system gives the process no thread more."""


class Aside:
    """Runs `work` on a thread, in the context (NumPy's error state, say) of who starts it.

    `work` returns, or raises `Cancelled`, soon after its owner has said that all is to end.
    """

    def __init__(self, run: object, name: str, work: Callable[[], None]) -> None:
        self._run = run
        self._work = work
        self._afterwards: Callable[[], None] | None = None
        self._lock = threading.Lock()
        self._done = False
        context = copy_context()
        self._thread = threading.Thread(target=lambda: context.run(self._main), name=name, daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            raise NoThread(
                f"{name}: expected one more thread, but the system gave none: {error}. Raise the limit "
                f"of processes (ulimit -u, or the container's), or have fewer pipelines open at once."
            ) from None

    def _main(self) -> None:
        work = self._work
        del self._work  # it refers to who has this
        with at_work_for(self._run):
            with contextlib.suppress(Cancelled):
                work()
            with self._lock:
                self._done = True
            if self._afterwards is not None:
                self._afterwards()

    def join(self, until: float) -> bool:
        """Wait until then for the end of the thread; whether it has ended."""
        if self._thread is not threading.current_thread():
            self._thread.join(max(0.0, until - monotonic()))
        return not self._thread.is_alive()

    def interrupt(self) -> None:
        """Raise `Cancelled` in the thread, where it is busy in a user's Python code."""
        if self._thread is not threading.current_thread():
            ident = ctypes.c_ulong(self._thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Cancelled))

    def leave(self, afterwards: Callable[[], None]) -> bool:
        """Have the thread call `afterwards` when it is done; False if it is already."""
        with self._lock:
            if self._done:
                return False
            self._afterwards = afterwards
            return True


def end_all(asides: Sequence[Aside], afterwards: Callable[[], None]) -> bool:
    """Wait for the end of all these threads; whether they have ended.

    Those that are stuck where Python cannot reach them are left alone, and the last calls `afterwards`.
    """
    for turn in range(2):
        until = monotonic() + GRACE
        alive = [aside for aside in asides if not aside.join(until)]
        if not alive:
            return True
        if turn == 0:
            for aside in alive:
                aside.interrupt()
    lock = threading.Lock()
    left = len(alive) + 1  # this call is one of them

    def one_less() -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            afterwards()

    stuck = [aside for aside in alive if aside.leave(one_less)]
    with lock:
        left -= 1 + len(alive) - len(stuck)
        return left == 0
