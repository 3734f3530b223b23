"""How often to look: densely at first, then at most a small share of the time."""

from __future__ import annotations

from time import perf_counter

PAUSES = ((0.4, 1.0), (1.2, 3.0), (float("inf"), 40.0))
"""The pause after a sample, in times of what it took: until so many seconds were spent in all, and then.

The first seconds cost more, so that short scripts are judged too."""
CLOSEST, LONGEST = 0.003, 0.25
"""The clock sleeps no shorter, and no longer, than that."""
BURSTS = (8, 16, 32, 64, 128, 256)
"""After so many moments the lines are watched for a few rounds."""
BURST_CREDIT, BURST_SHARE = 0.8, 0.01


class Pace:
    """Says when the next sample is due."""

    def __init__(self) -> None:
        self.due = 0.0
        self.used = 0.0
        self.closest = CLOSEST
        self._cost = 0.0
        self._bursts = 0
        self._burst_time = 0.0
        self._began: float | None = None
        self._now = 0.0
        self._samples = 0

    def tick(self) -> float:
        """How long the clock sleeps: until the next sample is due."""
        return max(CLOSEST, min(LONGEST, self.due - perf_counter()))

    def _times(self) -> float:
        return next(times for until, times in PAUSES if self.used < until)

    def patience(self) -> float:
        """How long a step is waited for before a sample is taken without one."""
        return max(0.5, 4 * self.closest)

    def idle(self, now: float) -> None:
        """No loop is at work yet."""
        self.due = now + CLOSEST

    def spent(self, began: float, ended: float, work: float) -> None:
        """A sample was taken; on a machine that is busy it takes longer than the work in it."""
        if self._began is None:
            self._began = began
        self._samples += 1
        self._now = ended
        self.used += work
        self._cost = ended - began
        self.due = ended + max(self.closest, self._cost * self._times())

    def slower(self) -> None:
        """Half of the moments were forgotten: from now on there are half as many."""
        self.closest *= 2

    def burst_now(self) -> bool:
        """Whether it is time to watch the lines."""
        elapsed = self._now - (self._began or self._now)
        if self._burst_time > BURST_CREDIT + BURST_SHARE * elapsed:
            return False
        wanted = BURSTS[min(self._bursts, len(BURSTS) - 1)]
        return self._samples >= (wanted if self._bursts < len(BURSTS) else 128 * (self._bursts - 3))

    def burst_took(self, began: float, ended: float) -> None:
        """The lines were watched."""
        self._bursts += 1
        self._burst_time += ended - began
        self.due = ended + self.closest
