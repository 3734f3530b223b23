"""Loops whose lines are passed over while lines are followed: what is around them is to be seen too."""

from __future__ import annotations

from collections import Counter
from time import perf_counter
from types import FrameType

from penstock.doctor.places import Loop, Places


class Passing:
    """Counts the rounds of each loop, and knows the one that is passed over, until it is left."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._frame: FrameType | None = None
        self._loop: Loop | None = None
        self._rounds: Counter[tuple[int, Loop]] = Counter()
        self._since = 0.0

    @property
    def at_work(self) -> bool:
        """Whether there is such a loop now."""
        return self._loop is not None

    @property
    def seconds(self) -> float:
        """For how long it has been passed over."""
        return perf_counter() - self._since if self._loop is not None else 0.0

    def begin(self, frame: FrameType, loop: Loop) -> None:
        """Pass a loop over that `frame` is in."""
        self._frame, self._loop, self._since = frame, loop, perf_counter()

    def inside(self, frame: FrameType) -> bool:
        """Whether a line is one of the loop's."""
        loop = self._loop
        return loop is not None and frame is self._frame and loop.line <= (frame.f_lineno or 0) <= loop.end

    def end(self) -> float:
        """It was left; for how long it was passed over."""
        seconds = self.seconds
        self._frame = self._loop = None
        return seconds

    def longer(self, frame: FrameType, most: int) -> Loop | None:
        """The loop that a line begins another round of, if that makes more of them than so many."""
        loop = self._places.headed(frame)
        if loop is None:
            return None
        self._rounds[id(frame), loop] += 1
        return loop if self._rounds[id(frame), loop] > most else None


def unfollowed(frame: FrameType, event: str, arg: object) -> None:
    """No code is followed that is called meanwhile."""
