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

import weakref

from penstock.engine.meter import Meter
from penstock.report.report import Chosen

WINDOW = 0.08
"""Seconds: what is measured for less tells nothing."""
PULLS = 6
"""So many pulls at least, but for longer ones."""
LONGEST = 0.4
"""Seconds after which a few pulls are enough."""
SETTLING = 0.03
"""Seconds after a step in which what was begun before it is still being handed on."""
HARDLY = 0.05
"""The share of its time that a loop may wait that hardly waits."""
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
AGAIN = 1.0
"""Seconds after which a step in vain is tried again; twice as long each time."""
PATIENCE = 128
"""So many times a queue is found full, by a loop that hardly waits, before it is made smaller."""
LOOKS = 4
"""So many times it is measured how much the loop waits before it is known whether more blocks helped."""
HELPED = 0.8
"""They did where it waits for less than this part of what it waited before."""
MOST = 64
"""More calls at once than this, or than four for each core, are not tried."""


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


class Depth:
    """How many blocks to keep ready: twice as many once all that were ready have been used up at once.

    Only what has been full can be too small: where it never fills, more of it would help nobody. Where the
    loop waits as much with twice as many, there are half of them again, and it is not tried for a second,
    then for two: of much that lies ready nothing is in the cache when its turn comes. Half as many are enough
    too once it has been full for long while the loop hardly waited; for twice as long after each time that
    this was wrong. The budget decides how many of them there really are.
    """

    def __init__(self, turn: Turn, meter: Meter, start: int) -> None:
        self.blocks = start
        self._least = start
        self._quiet = 0
        self._patience = PATIENCE
        self._turn = turn
        self._meter = meter
        self._was_full = False
        self._times = 0
        self._before = 0.0  # how much the loop waited before there were twice as many
        self._next = 1  # after so many looks there may be more, or it is known whether more have helped
        self._pause = round(AGAIN / WINDOW)  # for so many looks what was in vain is not tried
        self._say("that is enough so far")

    def full(self) -> None:
        """As many are ready as there may be."""
        self._was_full = True
        self._let_others_try()
        if self._turn.waits < HARDLY and self.blocks > self._least:
            self._quiet += 1
            if self._quiet >= self._patience:
                self._quiet, self._before = 0, 0.0
                self.blocks //= 2
                self._say("more are not needed: the loop hardly waits")

    def empty(self, most: int) -> None:
        """Somebody waits for the next one, and there is none; `most` is how many the budget has room for."""
        self._let_others_try()
        if not self._was_full or self._turn.waits < HARDLY or self._turn.looks < self._next:
            return
        self._was_full, self._quiet = False, 0
        if self._before and self._turn.waits > HELPED * self._before:
            self._before = 0.0
            self.blocks //= 2
            self._next = self._turn.looks + self._pause
            self._pause *= 2
            self._say("twice as many gained nothing")
        elif 2 * self.blocks <= most and self._turn.take(self):
            self._before, self._next = self._turn.waits, self._turn.looks + LOOKS
            self._patience *= 2
            self.blocks *= 2
            self._times += 1
            often = "once" if self._times == 1 else f"{self._times} times"
            self._say(f"all that were ready have been used up {often}")

    def _let_others_try(self) -> None:
        if self._turn.looks >= self._next:  # it has been measured what came of it
            self._turn.give(self)

    def _say(self, why: str) -> None:
        self._meter.chosen["blocks ready"] = Chosen("blocks ready", self.blocks, why)
