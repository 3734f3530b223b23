"""How many calls at once: found while the run goes on, by steps that are kept only where they gain.

Two things are measured: how much of its time the user's loop waits for the run, and how long whoever pulls
from the op is inside of it, a row. While the loop hardly waits, half as many calls are tried, and kept if
it still does not: the cores are the loop's. While it waits, twice as many are tried for a moment (or four
times as many, where calls hardly use a core), or half as many where calls wait, and what was before is
taken up again unless a row has become clearly cheaper, twice in a row. A step in vain is tried again after
a second, then after two, then four: so it settles, and finds out when the work has changed. In one run one
step is tried at a time, so that no op is credited with what another has done.

No more calls are tried than could be of use: those that keep a core busy all of the time are as many as
cores, those that wait for nine tenths of it are ten times as many.
"""

from __future__ import annotations

from penstock.engine.meter import Meter
from penstock.engine.turn import AGAIN, HARDLY, WINDOW, Turn
from penstock.report.report import Chosen

PULLS = 6
"""So many pulls at least, but for longer ones."""
LONGEST = 0.4
"""Seconds after which a few pulls are enough."""
SETTLING = 0.03
"""Seconds after a step in which what was begun before it is still being handed on."""
WAITS = 0.1
"""The share from which on a loop waits."""
GAIN = 0.93
"""Twice the calls are kept where a row takes less than this part of the time it took before."""
LESS_GAIN = 0.9
"""Half the calls, where it takes less than this part: more of them do little harm."""
CROWDED = 1.3
"""Calls that take so many times as long as they use a core may be in each other's way."""
FAR = 4
"""So many times the calls at one step, where far more could be of use."""
MOST = 64
"""More calls at once than this, or than four for each core, are not tried."""


class Calls:
    """A number of calls at once. `now` may be read by any thread; who pulls tells what it has seen."""

    def __init__(self, turn: Turn, meter: Meter, start: int, most: int) -> None:
        self.now = start
        self.limit = most
        """The most that may be tried; may change."""
        self.tries = True
        """Whether steps are still tried."""
        self._turn = turn
        self._meter = meter
        self._what = "calls at once"
        self._start = start
        self._busy = self._worked = 0.0  # seconds of calls, and those of them on a core
        self._before: tuple[int, float] | None = None  # the number before the step that is tried, its cost
        self._tried: list[float] = []  # what a row has cost since
        self._spare = False  # whether it is tried only how many can be spared
        self._up = True
        self._in_vain = 0
        self._next = 0.0  # when the next step may be tried
        self._pause = AGAIN
        self._since = -1.0
        self._clear()
        self._say(
            "one for each core that may be used" if start < most else "one for each dataset that is open"
        )

    def pulled(self, began: float, ended: float, rows: int) -> bool:
        """Who pulls was inside from then until then, and got so many rows; whether `now` has changed."""
        if self._since < 0.0:
            self._clear(ended)
            return False
        if began < self._since:  # of the number before
            return False
        self._inside += ended - began
        self._rows += rows
        self._pulls += 1
        wall = ended - self._since
        if wall < WINDOW or (self._pulls < PULLS and wall < LONGEST):
            return False
        before = self.now
        self._judge(self._inside / max(self._rows, 1), ended)
        changed = self.now != before
        self._clear(ended + (SETTLING if changed else 0.0))
        return changed

    def worked(self, seconds: float, busy: float) -> None:
        """Calls have taken so long, and have kept a core busy for so long; on any thread."""
        # What was long ago counts less and less.
        self._worked = 0.98 * self._worked + seconds
        self._busy = 0.98 * self._busy + busy

    def fix(self, number: int, why: str) -> None:
        """It is known how many are best: nothing is tried any more."""
        if self.tries:
            self.tries = False
            self.now, self._before = number, None
            self._turn.give(self)
            self._say(why)

    @property
    def most(self) -> int:
        """The most calls that could be of use."""
        if not self._worked:
            return self.limit
        waiting = self._worked / max(self._busy, 1e-9)
        return max(self._start, min(self.limit, round(self._start * waiting)))

    @property
    def _crowded(self) -> bool:
        """Whether calls wait, maybe for one another: where each has a core to itself, fewer are no gain."""
        known = self._worked > 0.0
        return not known or self.now > self._start or self._worked > CROWDED * self._busy

    def _judge(self, cost: float, now: float) -> None:
        if self._before is not None:
            self._tried.append(cost)
            self._decide(now)
        elif not self.tries or now < self._next:
            return
        elif self._turn.waits >= WAITS:
            self._try(self._step(), cost, spare=False)
        elif self._turn.waits < HARDLY:
            self._try(max(self.now // 2, 1), cost, spare=True)

    def _try(self, step: int, cost: float, *, spare: bool) -> None:
        if step != self.now and self._turn.take(self):
            self._before, self._tried, self._spare = (self.now, cost), [], spare
            self.now = step

    def _step(self) -> int:
        """What to try next: in the direction that gained last, or the other if there is none."""
        factor = FAR if self.most >= 2 * FAR * self.now else 2
        more = max(self.now, min(factor * self.now, self.most))
        fewer = max(self.now // 2, 1) if self._crowded else self.now
        first, second = (more, fewer) if self._up else (fewer, more)
        return first if first != self.now else second

    def _decide(self, now: float) -> None:
        """Keep the step that was tried, once it has gained twice, or go back."""
        assert self._before is not None
        old, before = self._before
        tried, cost = self.now, sum(self._tried) / len(self._tried)
        if self._spare:
            gained = self._turn.waits < HARDLY + (WAITS - HARDLY) / 2
        else:
            gained = cost < (GAIN if tried > old else LESS_GAIN) * before
        if gained and len(self._tried) < 2 + self._spare:
            return
        self._before = None
        self._turn.give(self)
        if not gained:
            self._go_back(old, now)
        elif self._spare:
            self._say(f"the loop waits {100 * self._turn.waits:.0f}% of its time")
        else:
            self._up = tried > old
            self._in_vain = 1  # the way back need not be tried
            self._pause = AGAIN
            self._say(f"with {old} a row took {before / cost:.1f} times as long")

    def _go_back(self, old: int, now: float) -> None:
        tried, self.now = self.now, old
        self._in_vain += 1
        self._up = tried < old
        if self._spare or self._in_vain == 2 or old == 1 or old >= self.most:  # there is no other way
            self._in_vain = 0
            self._next = now + self._pause
            self._pause = 2 * self._pause
        self._say(f"trying {tried} {'would not do' if self._spare else 'gained nothing'}")

    def _clear(self, since: float = -1.0) -> None:
        self._since = since
        self._inside = 0.0
        self._rows = self._pulls = 0

    def _say(self, why: str) -> None:
        self._meter.chosen[self._what] = Chosen(self._what, self.now, why)


def most_calls(cores: int) -> int:
    """The most calls at once that are tried."""
    return max(MOST, 4 * cores)
