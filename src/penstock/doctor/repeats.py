"""A loop that is not in the user's code: `map`, or a library, calls a function again and again."""

from __future__ import annotations

from types import CodeType, FrameType

from penstock.doctor.places import Places

TIMES = 3
"""Seen so often, it is a loop."""


class Repeats:
    """Looks at the user's frames from time to time, for as long as no loop is known."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._last: list[tuple[FrameType, int]] = []
        self._times: dict[tuple[CodeType, int], int] = {}

    def see(self, frame: FrameType | None) -> None:
        """Take note of a call that is made by the same instruction as before, and is another one."""
        before = self._last
        now = [(one, one.f_lasti) for one in self._places.stack(frame)]
        for i in range(min(len(before), len(now)) - 1):
            if before[i] != now[i]:
                break
            called, other = now[i + 1][0], before[i + 1][0]
            if called is not other and called.f_code is other.f_code:
                call = (now[i][0].f_code, now[i][1])
                self._times[call] = self._times.get(call, 0) + 1
        if len(now) > 1 or before[:1] != now:
            self._last = now  # while the library is at work between two calls, the last one is kept in mind

    def at_work(self, stack: list[FrameType]) -> str | None:
        """Where such a loop is, if one is at work."""
        for one in stack if self._times else ():
            if self._times.get((one.f_code, one.f_lasti), 0) >= TIMES:
                return f"{one.f_code.co_filename}:{one.f_lineno}"
        return None

    def forget(self) -> None:
        """Keep no frame alive."""
        self._last = []
