"""What the ops of a run share when they try how many calls or blocks are best."""

from __future__ import annotations

import weakref

WINDOW = 0.08
"""Seconds: what is measured for less tells nothing."""
HARDLY = 0.05
"""The share of its time that a loop may wait that hardly waits."""
AGAIN = 1.0
"""Seconds after which a step in vain is tried again; twice as long each time."""


class Turn:
    """What the ops of a run share: how much the loop waits, and whose turn it is to try something."""

    def __init__(self) -> None:
        self.waits = HARDLY
        """The share of its time that the loop waits; at first a number that asks for nothing."""
        self.looks = 0
        """How many times that was measured."""
        self._whose: weakref.ref[object] | None = None
        self._since = -1.0
        self._inside = 0.0

    def asked(self, began: float, ended: float) -> None:
        """The loop has waited for the next block from then until then."""
        if self._since < 0.0:
            self._since = ended  # the first one says nothing of those after it
            return
        self._inside += ended - began
        wall = ended - self._since
        if wall > WINDOW:
            share = self._inside / wall
            self.waits = (self.waits + share) / 2 if self.looks else share
            self.looks += 1
            self._since, self._inside = ended, 0.0

    def take(self, who: object) -> bool:
        """Whether it is the turn of `who` now; who is gone has it no longer."""
        if self._whose is None or self._whose() is None:
            self._whose = weakref.ref(who)
        return self._whose() is who

    def give(self, who: object) -> None:
        """`who` has tried."""
        if self._whose is not None and self._whose() is who:
            self._whose = None
