"""Waits until the user's own code is at work again.

The clock may strike while a library holds a lock that it would take again. So nothing is asked of a library
before the call into it has come back to a line of the user's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from types import FrameType
from typing import Any

from penstock.doctor.places import Place, Places

LONG = 0.5
"""So many seconds it is waited for code that is entered."""


class Trap:
    """Calls back at the next line of the user's code, on the thread that set it."""

    def __init__(self, places: Places, reached: Callable[[FrameType], None]) -> None:
        self.waits = False
        self._places = places
        self._reached = reached
        self.at: Place | None = None
        """The user's line that was at work when it was set: the one that is reached comes after it."""
        self._frame: FrameType | None = None
        self._loops = False
        self._until = 0.0

    def set(self, frame: FrameType | None, wait: bool = False) -> None:
        """Wait for the innermost frame of the user's that is below `frame`, or else, if asked, for one."""
        if sys.gettrace() is not None:
            return
        while frame is not None and not self._places.is_user(frame.f_code.co_filename):
            frame = None if frame is self._places.floor else frame.f_back
        if frame is not None:
            self.waits, self._frame, self.at = True, frame, self._places.innermost(frame)
            frame.f_trace = self._line
            sys.settrace(_ignore)
        elif wait:
            self.wait()

    def wait(self, loops: bool = False) -> None:
        """Wait until code of the user's is entered, or goes on after an `await`; if asked, in a loop."""
        if sys.gettrace() is None:
            self.waits, self._loops, self._until = True, loops, perf_counter() + LONG
            sys.settrace(self._enter)

    def free(self) -> bool:
        """Whether nobody but this trap traces."""
        return sys.gettrace() in (None, _ignore, self._enter)

    def clear(self) -> None:
        """Wait no longer."""
        if self._frame is not None:
            self._frame.f_trace = None
            self._frame = None
        if self.waits and self.free():
            sys.settrace(None)
        self.waits, self.at = False, None

    def _enter(self, frame: FrameType, event: str, _: object) -> Any:
        """Code of the user's begins: its first line is the one that was waited for."""
        mine = event == "call" and self._places.is_user(frame.f_code.co_filename)
        if not mine or (self._loops and not self._places.loops(frame)):
            if perf_counter() > self._until:
                self.clear()
            return None
        self._frame = frame
        sys.settrace(_ignore)
        return self._line

    def _line(self, frame: FrameType, event: str, _: object) -> None:
        if event in ("line", "return"):
            self._frame = None
            frame.f_trace = None
            # Tracing stays on while the sample is taken: it says that the names of this frame are in use.
            self._reached(frame)
            self.waits, self.at = False, None
            if sys.gettrace() is _ignore:
                sys.settrace(None)


def _ignore(frame: FrameType, event: str, arg: object) -> None:
    """No other code is traced."""
