"""Waits until the user's own code is at work again.

The clock may strike while a library holds a lock that it would take again. So nothing is asked of a library
before the call into it has come back to a line of the user's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

from penstock.doctor.places import Places


class Trap:
    """Calls back at the next line of the user's code, on the thread that set it."""

    def __init__(self, places: Places, reached: Callable[[FrameType], None]) -> None:
        self.waits = False
        self._places = places
        self._reached = reached
        self._frame: FrameType | None = None

    def set(self, frame: FrameType | None) -> None:
        """Wait for the innermost frame of the user's that is below `frame`."""
        while frame is not None and not self._places.is_user(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None or sys.gettrace() is not None:
            return
        self.waits, self._frame = True, frame
        frame.f_trace = self._line
        sys.settrace(_ignore)

    def free(self) -> bool:
        """Whether nobody but this trap traces."""
        return sys.gettrace() in (None, _ignore)

    def clear(self) -> None:
        """Wait no longer."""
        if self._frame is not None:
            self._frame.f_trace = None
            self._frame = None
        if sys.gettrace() is _ignore:
            sys.settrace(None)
        self.waits = False

    def _line(self, frame: FrameType, event: str, _: object) -> None:
        if event in ("line", "return"):
            self._frame = None
            frame.f_trace = None
            # Tracing stays on while the sample is taken: it says that the names of this frame are in use.
            self._reached(frame)
            self.waits = False
            if sys.gettrace() is _ignore:
                sys.settrace(None)


def _ignore(frame: FrameType, event: str, arg: object) -> None:
    """No other code is traced."""
