"""How often to look: a small share of the time, which is bounded, and often enough for a short script."""

from __future__ import annotations

from time import perf_counter

PAUSES = ((0.1, 1.0, 1.0, 20.0), (3.0, 24.0, 3.0, 16.0), (float("inf"), 79.0, 30.0, 16.0))
"""The pause after a sample, until so many seconds of the loop have gone: so many times what it took. It is
less, but never less than so many times, where it would be more than this part of the time so far.

The first seconds cost more, so that short scripts are judged too: about 0.3 s in all."""
SOONEST, CLOSEST, LONGEST = 0.001, 0.003, 0.25
"""The clock sleeps no shorter, at first and later, and no longer, than that."""
FIRST, SOON = 30, 1.0
"""As long as there are fewer samples, no more than so many seconds count as gone: others may have kept the
script from its work."""
BUSY = 1.5
"""Of a sample that takes much longer than the work in it, so many times count: others were at work."""
SETTLED, SOON_AFTER = 6, 8
"""After so many moments in another loop, or after something was found, they are watched again."""
BURSTS = (12, 24, 48, 96, 192, 320)
"""After so many moments the lines are watched for a few rounds."""
ON_LINES, LINES_AT_ONCE = ((0.1, 0.25), (3.0, 0.05), (float("inf"), 0.01)), 1.0
"""What may be spent on lines of each second of the loop, and the most that counts of one time."""


def pause(elapsed: float, cost: float) -> float:
    """How long to wait after a sample that took `cost` seconds, so many seconds after the loop has begun.

    >>> pause(100.0, 0.002)
    0.158
    >>> pause(1.0, 0.002)
    0.048
    """
    _, most, least, part = next(one for one in PAUSES if elapsed < one[0])
    return min(most * cost, max(elapsed / part, least * cost))


def for_lines(elapsed: float) -> float:
    """What may have been spent on lines after so many seconds of a loop.

    >>> round(for_lines(0.1), 4), round(for_lines(3.0), 4), round(for_lines(103.0), 4)
    (0.025, 0.17, 1.17)
    """
    total, last = 0.0, 0.0
    for until, rate in ON_LINES:
        total += rate * max(0.0, min(elapsed, until) - last)
        last = until
    return total


class Pace:
    """Says when the next sample is due."""

    def __init__(self) -> None:
        self.due = 0.0
        self.closest = CLOSEST
        self.on_lines = 0.0
        """Seconds that were spent on lines."""
        self._bursts = 0
        self._began: float | None = None
        self._samples = 0
        self._loop, self._in_it = "", 0
        self._followed, self._before = "", 0
        """The loop whose lines are watched, and the samples before it."""
        self._soon: int | None = None

    def tick(self) -> float:
        """How long the clock sleeps: until the next sample is due."""
        return max(SOONEST if self.early else CLOSEST, min(LONGEST, self.due - perf_counter()))

    @property
    def early(self) -> bool:
        """Whether there are few samples yet: of a short script there will be no others."""
        return self._samples < FIRST

    def patience(self) -> float:
        """How long a step is waited for before a sample is taken without one."""
        return max(0.5, 4 * self.closest)

    def idle(self, now: float) -> None:
        """No loop is at work yet."""
        self.due = now + CLOSEST

    def sampled(self, began: float, ended: float, work: float) -> None:
        """A sample was taken; on a machine that is busy it takes longer than the work in it."""
        if self._began is None:
            self._began = began
        self._samples += 1
        cost = min(ended - began, BUSY * work)
        gone = ended - self._began
        if self.early:
            gone = min(gone, SOON)
        self.due = ended + max(SOONEST if self.early else self.closest, pause(gone, cost))

    def slower(self) -> None:
        """Half of the moments were forgotten: from now on there are half as many."""
        self.closest *= 2

    def burst_now(self, now: float) -> bool:
        """Whether it is time to watch the lines."""
        wanted = BURSTS[self._bursts] if self._bursts < len(BURSTS) else 128 * (self._bursts - 3)
        elapsed = 0.0 if self._began is None else now - self._began
        enough = self._samples - self._before >= wanted or (self._soon or 1 << 60) <= self._samples
        return enough and self.on_lines <= for_lines(elapsed)

    def burst_soon(self) -> None:
        """Something was found whose lines nobody has watched."""
        self._soon = self._samples + SOON_AFTER

    def at(self, loop: str) -> None:
        """Which loop a sample was taken in: one that goes on is begun with anew."""
        self._in_it = self._in_it + 1 if loop == self._loop else 1
        self._loop = loop
        if self._in_it == SETTLED and loop != self._followed:
            self._before = self._samples - SETTLED if self._followed else 0
            self._followed, self._bursts = loop, 0

    def burst_took(self, cost: float, ended: float) -> None:
        """The lines were watched, and the script has waited so long for it."""
        self._bursts += 1
        self._soon = None
        self.on_lines += min(cost, LINES_AT_ONCE)
        self.due = max(self.due, ended + self.closest)
