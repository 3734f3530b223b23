"""Whether calls on several threads wait for one another.

How long Python's lock is held can be seen on one thread, what it takes to hand it on between many cannot: in
the first calls, a hundredth of the time looks like none at all. So the calls on threads of many cores are
watched for a while as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from penstock.engine.taken import timed
from penstock.functions.plain_rows import Outcome

ENOUGH = 0.5
"""Seconds that calls keep cores busy, all together, after which it is known."""
CROWDED = 0.6
"""Calls wait if they are busy for less than so many times the part of their time that one alone is."""
MOSTLY = 0.5
"""A call that alone is busy for a smaller part of its time waits for something else."""
CALLS = 512
"""After so many calls that were no crowd there will be none."""


class Crowd:
    """What calls take while there are others; to wait for a core does not count as waiting."""

    def __init__(self, share: float) -> None:
        """`share` is the part of its time that a call is busy when there is no other."""
        self._alone = share
        self._lock = threading.Lock()
        self._seconds = self._busy = 0.0
        self._inside = self._begun = 0  # calls that are being made, and all that were begun

    def call(self, call: Callable[[], Outcome]) -> Outcome:
        """Make a call."""
        with self._lock:
            others, first = self._inside, self._begun
            self._inside += 1
            self._begun += 1
        busy = seconds = 0.0
        try:
            outcome, busy, seconds = timed(call)
        finally:
            with self._lock:
                self._inside -= 1
                if others or self._begun > first + 1:
                    self._seconds += seconds
                    self._busy += busy
        return outcome

    @property
    def share(self) -> float:
        """The part of their time that calls are busy."""
        return self._busy / max(self._seconds, 1e-9)

    @property
    def known(self) -> bool:
        """Whether there is no need to watch any longer."""
        return self._busy >= ENOUGH or self._begun >= CALLS

    @property
    def waits(self) -> bool:
        """Whether calls wait for one another."""
        return self._busy >= ENOUGH and self._alone >= MOSTLY and self.share < CROWDED * self._alone
