"""For a few rounds of the loop, line by line: which line makes a counter grow."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from time import perf_counter, thread_time
from types import CodeType, FrameType
from typing import Any

from penstock.doctor.held import Held
from penstock.doctor.passing import Passing, unfollowed
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
AROUND, WITHIN = 4, 30
"""A loop is passed over after so many rounds: where what is around it is looked for, and where it takes
long. So is a function that is called that often."""
AWAY = 30.0
"""For so many seconds at once a loop is passed over."""
HEAP, LOOSE = "memory.heap", "memory.loose"
"""What is in use of the heap; and of it, what no name of a function at work has as an array."""
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
        inner: tuple[FrameType, Loop] | None = None,
        meanwhile: Callable[[FrameType], None] | None = None,
    ) -> None:
        self.places = places
        self.loops = list(loops)
        """Those that are at work and followed, the innermost last."""
        self.inner = inner
        """The loop inside of them that is passed over, and where it is at work."""
        self.meanwhile = meanwhile
        """Whom to call at the lines of a loop that is passed over."""
        self.probes = probes
        self.made = made
        self.done = done
        self.grew: dict[str, dict[Place, list[float]]] = {key: {} for key in (*probes, LOOSE)}
        """What each line has added to each counter, or given back, each time that it did."""
        self.sites: dict[str, Counter[Place]] = {}
        """Which lines have made things of a kind that is looked for."""
        self.ran: Counter[Place] = Counter()
        self.rounds = 0
        self.seconds = 0.0
        """How long it took, with the time in which loops were passed over."""
        self._held = Held()
        self._passing = Passing(places)
        self._last: dict[str, float] = {}
        self._at: Place | None = None
        self._anchored = bool(loops)
        self._began = 0.0
        self._lines = 0
        self._calls = 0
        self._called: Counter[CodeType] = Counter()
        self._worked = 0.0
        self._paused: list[FrameType] = []
        self._ended = False

    def start(self, frame: FrameType | None) -> None:
        """Begin, with the frames that are at work already."""
        self._began = perf_counter()
        at: FrameType | None = frame
        while self.inner is not None and at is not None and at is not self.inner[0]:
            at = at.f_back
        while at is not None:
            before = getattr(at.f_trace, "__self__", None)  # one that has ended may have left its own
            if self.places.is_user(at.f_code.co_filename) and (at.f_trace is None or type(before) is Burst):
                at.f_trace = self._line
                self._paused.append(at)
                self._held.see(at)
            at = at.f_back
        if frame is not None:
            self._take(frame)
        self._at = self.places.innermost(frame)
        sys.settrace(self._call)
        if self.inner is not None:
            self._pass(*self.inner)

    def stop(self) -> None:
        """End: nothing is traced any more."""
        self._ended = True
        self._go_on()
        self.seconds += perf_counter() - self._began
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
        if self.aside:
            return self._passing.seconds > AWAY
        return perf_counter() - self._began > PATIENCE or self.cost > DEAREST

    @property
    def aside(self) -> bool:
        """Whether a loop is passed over just now: samples may be taken."""
        return self._passing.at_work

    def _pass(self, frame: FrameType, loop: Loop) -> None:
        """Follow no lines but those of `frame`, until it leaves the loop."""
        self._passing.begin(frame, loop)
        sys.settrace(unfollowed)

    def _go_on(self) -> None:
        """Lines are followed again; the time in between does not count."""
        if self.aside:
            seconds = self._passing.end()
            self._began += seconds
            self.seconds += seconds
            if sys.gettrace() is unfollowed:
                sys.settrace(self._call)

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
        self._called[code] += 1
        long = self._anchored and self._called[code] > WITHIN  # such as a hook, if it is not all there is
        if long and self.cost > ENOUGH:
            self._at = None  # whether it was that one or who calls it, nobody has seen
            return None
        self._account(frame)
        self._at = Place(code.co_filename, frame.f_lineno)
        return self._line

    @property
    def cost(self) -> float:
        """About how many seconds the script has waited for it."""
        return self._worked + CALL * self._calls

    def _line(self, frame: FrameType, event: str, returned: object) -> Any:
        if self._ended:
            frame.f_trace = None
            return None
        if self.aside:
            self._calls += 1
            if (event != "return" and self._passing.inside(frame)) or event == "exception":
                if self.cost > DEAREST:
                    frame.f_trace = None
                    self.stop()
                    return None
                if self.meanwhile is not None:
                    self.meanwhile(frame)
                return self._line
            self._go_on()
            self._take(frame)  # what was added meanwhile is nobody's
            self._at = None
        if event == "line":
            self._account(frame)
            self._at = Place(frame.f_code.co_filename, frame.f_lineno)
            self.ran[self._at] += 1
            self._lines += 1
            if self._over(frame):
                frame.f_trace = None
                self.stop()
                return None
            loop = self._passing.longer(frame, AROUND if self.inner else WITHIN)
            if self.inner is not None and self.rounds > FEW:  # on to what is around that one
                self.rounds = 0
                self._pass(frame, self.loops.pop())
            elif loop is not None and loop not in self.loops and (self.inner or self.cost > ENOUGH):
                self._pass(frame, loop)
        elif event == "return":
            self._account(frame, returned)
            self._held.leave(frame)
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
        if self.inner is not None and self.rounds > FEW:
            return len(self.loops) <= 1
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

    def _account(self, frame: FrameType, returned: object = None) -> None:
        began = thread_time()
        at, last = self._at, dict(self._last)
        self._take(frame, returned)
        if at is not None:
            for key, value in self._last.items():
                if key in last and value != last[key]:
                    self.grew[key].setdefault(at, []).append(value - last[key])
        self._worked += thread_time() - began

    def _take(self, frame: FrameType, returned: object = None) -> None:
        held = self._have(frame, returned)
        for key, probe in self.probes.items():
            try:
                value = probe(frame)
            except (
                Exception
            ):  # what is looked at may be anything by now, and this is in the middle of the script
                continue
            if value is not None:
                self._last[key] = value
        if HEAP in self._last and held is not None:
            self._last[LOOSE] = self._last[HEAP] - held

    def _have(self, frame: FrameType, returned: object) -> int | None:
        """The bytes that functions at work have; it comes first, for Python keeps what names had before."""
        try:
            self._held.see(frame, returned)
        except Exception:  # such as a dict that another thread makes longer
            return None
        return self._held.bytes
