"""How many rows an op that works on several blocks at once takes in with each."""

from __future__ import annotations

from collections import deque
from math import ceil
from time import perf_counter

from penstock.engine.demand import PATIENCE

WAY, LARGE = 12, 4
"""As many times `PATIENCE`, at least, for work in other processes, which a block has to get to and back from;
fewer times for blocks that are larger than others, and take more memory. Half as many times as there are
workers, as one process hands over the blocks of all."""
SURE, WORTH = 0.8, 0.008
"""Of its share of what is left, for all to be done at the same time, a worker gets so much: nobody knows how
long rows will take. The rest is shared out again, if it takes so many seconds: for less it gets all at once,
as the way there and back takes a millisecond as well."""
LEAST = 0.002
"""Seconds: where blocks are small for all to be done at the same time, they take so long at least."""


class Portions:
    """As many rows as asked for; fewer where they would take too long."""

    def __init__(self, workers: int, length: int) -> None:
        """`length` is how many rows there are, negative if nobody knows."""
        self._workers = workers
        self.length = length
        self.asked = self._first = 0
        """The most that was asked for at once, and what was asked for first."""
        self.begun = 0
        """Rows that were taken in."""
        self.among_first = False
        """Whether some of those that were taken in last are of the first ones that were asked for."""
        self._taken: deque[tuple[float, int]] = deque(maxlen=2 * workers)
        """When the last parts were taken in, and their rows: others may still be at work on them."""

    def ask(self, rows: int) -> None:
        """So many rows are asked for."""
        self._first = self._first or rows
        self.asked = max(rows, self.asked)

    def here(self, seconds: float) -> int:
        """The rows to take in for work in this process that takes so long a row."""
        return max(1, min(self.first_left or self.asked, int(PATIENCE / max(seconds, 1e-9))))

    @property
    def first_left(self) -> int:
        """Of the first rows that were asked for, those that were not taken in yet."""
        return max(0, self._first - self.begun)

    def took(self, rows: int, now: float | None = None) -> None:
        """So many rows were taken in: there may be fewer than were asked for."""
        self.begun += rows
        self.among_first = self.begun - rows < self._first
        self._taken.append((perf_counter() if now is None else now, rows))

    def elsewhere(self, seconds: float, larger: int = 1, now: float | None = None) -> int:
        """The same for work in other processes, in blocks that are so many times as large as others.

        All are to be done at the same time with the first rows asked for, and with the last of all.
        """
        seconds = max(seconds, 1e-9)
        now = perf_counter() if now is None else now
        patience = PATIENCE * max(WAY if larger == 1 else LARGE, self._workers // 2)
        rows = min(larger * self.asked, int(patience / seconds))
        until = self._first if self.begun < self._first else self.length
        left = (until if self.length < 0 else min(until, self.length)) - self.begun
        if left > 0:
            share = self._share(left, seconds, now)
            part = ceil(share * (SURE if share * (1 - SURE) * seconds >= WORTH else 1))
            rows = min(rows, max(part, int(LEAST / seconds)))
        return max(1, rows)

    def _share(self, left: int, seconds: float, now: float) -> float:
        """The rows for one that has nothing to do: all are done together that get any of what is left.

        More may seem busy than there are workers, where one has only just ended.
        """
        busy = sorted((count - (now - began) / seconds for began, count in self._taken), reverse=True)
        whole = left + sum(rows for rows in busy if rows > 0)
        workers = self._workers
        for rows in busy:
            if workers == 1 or rows <= whole / workers:
                break
            whole, workers = whole - rows, workers - 1  # it is busy for longer
        return min(whole / workers, left)
