"""How many blocks are kept ready: found while the run goes on, from whether all of them are ever used up."""

from __future__ import annotations

from penstock.engine.meter import Meter
from penstock.engine.turn import AGAIN, HARDLY, WINDOW, Turn
from penstock.report.report import Chosen

PATIENCE = 128
"""So many times a queue is found full, by a loop that hardly waits, before it is made smaller."""
LOOKS = 4
"""So many times it is measured how much the loop waits before it is known whether more blocks helped."""
HELPED = 0.8
"""They did where it waits for less than this part of what it waited before."""


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
