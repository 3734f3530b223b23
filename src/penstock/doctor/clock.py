"""Seconds in which the process was at work: those in which the machine had put it aside do not count."""

from __future__ import annotations

from time import perf_counter, process_time

ASIDE = 1.0
"""A thread that wakes so many seconds later than it asked to was kept from it."""
IDLE = 0.2
"""By a long call of a library, if the process has worked for this part of the time; else it was stopped."""


class Clock:
    """Goes on while the process can run."""

    def __init__(self) -> None:
        self._aside = 0.0
        self._slept = perf_counter()
        self._worked = process_time()

    def now(self) -> float:
        """Seconds, from some moment on."""
        return perf_counter() - self._aside

    def sleeps(self) -> None:
        """A thread goes to sleep."""
        self._slept, self._worked = perf_counter(), process_time()

    def wakes(self, asked: float) -> None:
        """It has slept, and had asked for so many seconds."""
        late = perf_counter() - self._slept - asked
        if late > ASIDE and process_time() - self._worked < IDLE * late:
            self._aside += late
