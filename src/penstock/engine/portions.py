"""How many rows an op that works on several blocks at once takes in with each."""

from __future__ import annotations

from math import ceil

from penstock.engine.demand import PATIENCE

WAY, LARGE = 12, 4
"""As many times `PATIENCE`, at least, for work in other processes, which a block has to get to and back from;
fewer times for blocks that are larger than others, and take more memory. Half as many times as there are
cores, as one process hands over the blocks of all."""
PARTS = 1.25
"""What is left, for all to be done at the same time, is taken in so many times as many parts as there are
cores. Each part that is done costs a way there and back; what is left then is divided again."""
LEAST = 0.002
"""Seconds: where blocks are small for all to be done at the same time, they take so long at least."""


class Portions:
    """As many rows as asked for; fewer where they would take too long."""

    def __init__(self, cores: int, length: int) -> None:
        """`length` is how many rows there are, negative if nobody knows."""
        self._cores = cores
        self.length = length
        self.asked = 1
        """The most that was asked for at once."""
        self.begun = 0
        """Rows that were taken in."""

    def here(self, seconds: float) -> int:
        """The rows to take in for work in this process that takes so long a row."""
        return max(1, min(self.asked, int(PATIENCE / max(seconds, 1e-9))))

    def elsewhere(self, seconds: float, larger: int = 1) -> int:
        """The same for work in other processes, in blocks that are so many times as large as others.

        All are to be done at the same time with the first rows asked for, and with the last of all.
        """
        patience = PATIENCE * max(WAY if larger == 1 else LARGE, self._cores // 2)
        rows = min(larger * self.asked, int(patience / max(seconds, 1e-9)))
        until = self.asked if self.begun < self.asked else self.length
        left = (until if self.length < 0 else min(until, self.length)) - self.begun
        if left > 0:
            part = ceil(left / (PARTS * self._cores))
            rows = min(rows, max(part, int(LEAST / max(seconds, 1e-9))))
        return max(1, rows)
