"""For a few rounds of the loop, line by line: which line makes a counter grow."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from time import perf_counter, thread_time
from types import CodeType, FrameType
from typing import Any

from penstock.doctor.places import Loop, Place, Places, code_line

ROUNDS = 8
FEW = 2
ENOUGH, DEAR, DEAREST = 0.03, 0.08, 0.2
"""Seconds that the script may wait for it: after many rounds, after few, and in any case."""
CALL = 1.5e-6
"""About what a call of a library's function costs while lines are followed."""
SHORTEST, LONGEST = 0.12, 1.5
PATIENCE = 6.0
"""A single round of the loop may take so many seconds."""
Probe = Callable[[FrameType], float | None]


class Burst:
    """Watches the lines of the user's code, on the thread that starts it."""

    def __init__(
        self,
        places: Places,
        loops: list[Loop],
        probes: dict[str, Probe],
        made: dict[CodeType, str],
        done: Callable[[Burst], None],
    ) -> None:
        self.places = places
        self.loops = list(loops)
        """Those that are at work, the innermost last."""
        self.probes = probes
        self.made = made
        self.done = done
        self.grew: dict[str, dict[Place, list[float]]] = {key: {} for key in probes}
        """What each line has added to each counter, or given back, each time that it did."""
        self.sites: dict[str, Counter[Place]] = {}
        """Which lines have made things of a kind that is looked for."""
        self.ran: Counter[Place] = Counter()
        self.rounds = 0
        self._last: dict[str, float] = {}
        self._at: Place | None = None
        self._anchored = bool(loops)
        self._began = 0.0
        self._lines = 0
        self._calls = 0
        self._worked = 0.0
        self._paused: list[FrameType] = []
        self._ended = False

    def start(self, frame: FrameType | None) -> None:
        """Begin, with the frames that are at work already."""
        self._began = perf_counter()
        at: FrameType | None = frame
        while at is not None:
            if self.places.is_user(at.f_code.co_filename) and at.f_trace is None:
                at.f_trace = self._line
                self._paused.append(at)
            at = at.f_back
        if frame is not None:
            self._take(frame)
        self._at = self.places.innermost(frame)
        sys.settrace(self._call)

    def stop(self) -> None:
        """End: nothing is traced any more."""
        self._ended = True
        if sys.gettrace() == self._call:
            sys.settrace(None)
        for frame in self._paused:
            frame.f_trace = None
        self._paused.clear()
        self.probes = {}
        self.done(self)

    @property
    def late(self) -> bool:
        """Whether no line of the user's has come along for long: a library's loop is at work."""
        return perf_counter() - self._began > PATIENCE or self.cost > DEAREST

    def _call(self, frame: FrameType, _event: str, _: object) -> Any:
        if self._ended:  # by another thread
            sys.settrace(None)
            return None
        code = frame.f_code
        self._calls += 1
        kind = self.made.get(code)
        if kind is not None:
            place = self.places.innermost(frame.f_back)
            if place is not None:
                self.sites.setdefault(kind, Counter())[place] += 1
        if not self.places.is_user(code.co_filename):
            return None
        self._account(frame)
        self._at = Place(code.co_filename, frame.f_lineno)
        return self._line

    @property
    def cost(self) -> float:
        """About how many seconds the script has waited for it."""
        return self._worked + CALL * self._calls

    def _line(self, frame: FrameType, event: str, _: object) -> Any:
        if self._ended:
            frame.f_trace = None
            return None
        if event == "line":
            self._account(frame)
            self._at = Place(frame.f_code.co_filename, frame.f_lineno)
            self.ran[self._at] += 1
            self._lines += 1
            if self._over(frame):
                frame.f_trace = None
                self.stop()
                return None
        elif event == "return":
            self._account(frame)
            self._at = self.places.innermost(frame.f_back) or self._at
        return self._line

    def _over(self, frame: FrameType) -> bool:
        spent = perf_counter() - self._began
        if not self._anchored:
            self.rounds = self._lines // 20
        elif not self._inside(frame):
            return True
        if spent > PATIENCE or self.cost > DEAREST:
            return True
        if self.rounds > ROUNDS and (spent > SHORTEST or self.cost > ENOUGH):
            return True
        return self.rounds > FEW and (spent > LONGEST or self.cost > DEAR)

    def _inside(self, frame: FrameType) -> bool:
        """Whether a loop is still at work; of those that it has left, the next outer one is followed."""
        at, file, line = code_line(frame.f_code), frame.f_code.co_filename, frame.f_lineno
        while self.loops:
            loop = self.loops[-1]
            if (loop.file, loop.code_line) != (file, at) or loop.line <= line <= loop.end:
                self.rounds += loop.file == file and loop.line == line
                return True
            self.loops.pop()
        return False

    def _account(self, frame: FrameType) -> None:
        began = thread_time()
        at, last = self._at, dict(self._last)
        self._take(frame)
        if at is not None:
            for key, value in self._last.items():
                if key in last and value != last[key]:
                    self.grew[key].setdefault(at, []).append(value - last[key])
        self._worked += thread_time() - began

    def _take(self, frame: FrameType) -> None:
        for key, probe in self.probes.items():
            try:
                value = probe(frame)
            except (
                Exception
            ):  # what is looked at may be anything by now, and this is in the middle of the script
                continue
            if value is not None:
                self._last[key] = value
