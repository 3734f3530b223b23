"""Watches a running process: samples at steps, or by the clock where no step is seen."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections import Counter
from collections.abc import Callable
from inspect import CO_GENERATOR
from time import perf_counter, thread_time
from types import FrameType
from typing import Any

from penstock.doctor import steps as step_sources
from penstock.doctor.book import Book
from penstock.doctor.burst import Burst
from penstock.doctor.census import Census
from penstock.doctor.clock import Clock
from penstock.doctor.pace import Pace
from penstock.doctor.paths import Paths
from penstock.doctor.places import Loop, Place, Places, code_line, names_of
from penstock.doctor.probes import Evidence
from penstock.doctor.repeats import Repeats
from penstock.doctor.rounds import Count, Counts
from penstock.doctor.signals import Look, meet, signals
from penstock.doctor.trap import Trap
from penstock.doctor.turns import Turns

QUICK = 4096
"""A source is looked at after so many steps; where they come faster than `FASTEST`, time is used instead."""
FASTEST = 2e-5
THAW = 12.0
"""Who keeps objects without a name is asked once so many times what counting everything takes have gone: it
takes about as long."""
BLOCKED = 0.2
"""Where the main thread has not been at work for so many seconds, it waits for another."""
LOST = 2.0
"""Seconds after which a script that was to end is told again: Python drops what is raised in a finalizer."""


class StopEarly(BaseException):
    """Ends a script after the number of steps that was asked for."""


class Watching:
    """One watch, from `start` to `stop`."""

    def __init__(
        self, script: str | None = None, steps: int | None = None, floor: FrameType | None = None
    ) -> None:
        self.script = script
        self.places = Places(script, floor)
        self.book = Book()
        self.paths = Paths(self.places, self.book)
        self.evidence = Evidence(self.places, self.paths)
        self.pace = Pace()
        self.counts: dict[str, int] = {}
        self.began = perf_counter()
        self.ended = self.began
        self.loop_began: float | None = None
        self.trouble = ""
        """What went wrong in a sample, if anything did."""
        self.on_sample: Callable[[], None] | None = None
        """Whom to call after a sample."""
        self._worker = floor is not None
        self._most = steps
        self._census = Census(self._meet)
        self._clock = Clock()
        self._turns = Turns()
        self._signals = signals()
        self._undo: dict[str, Callable[[], None]] = {}
        self._rounds = Counts()
        self._thread = threading.get_ident()
        self._on_main = threading.current_thread() is threading.main_thread()
        """Whether the thread that is watched is the main one."""
        self._over = threading.Event()
        self._timer = threading.Thread(target=self._time, name="penstock-doctor", daemon=True)
        self._posted = False
        self._posted_at = 0.0
        self._busy = False
        self._enough = False
        self._ask_at = 0.0
        self._burst: Burst | None = None
        self._last_tick = 0.0
        self._leader: tuple[int, str] | None = None
        self._call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._pending)
        self._post = ctypes.pythonapi.Py_AddPendingCall
        self._trap = Trap(self.places, self._by_clock)
        self._repeats = Repeats(self.places)

    def start(self) -> None:
        """Begin."""
        self._attach()
        self.paths.world.user_modules()  # reads what there is to read once, before the clock runs
        self._timer.start()

    def stop(self) -> None:
        """End; nothing is left behind."""
        self._over.set()
        if self._burst is not None:
            self._burst.stop()
        self._trap.clear()
        self._repeats.forget()
        self._timer.join()
        for undo in self._undo.values():
            undo()
        self._undo.clear()
        until = perf_counter() + LOST
        while self._posted and perf_counter() < until:
            pass  # what was posted is still to come: on this thread, at once
        self._census.end()
        self._turns.restore()
        self.ended = perf_counter()

    def leave(self) -> None:
        """This is a child of the process that is watched: the watch goes on in the parent alone."""
        self._most, self.pace.due = None, float("inf")
        self.on_sample = None
        self._turns.restore()
        if self._burst is not None:
            self._burst.stop()
            self.pace.due = float("inf")
        self._trap.clear()

    # Steps

    def _attach(self) -> None:
        for source in step_sources.ready():
            if source.name not in self._undo:
                self.counts.setdefault(source.name, 0)
                try:
                    self._undo[source.name] = source.attach(self._ticker(source.name, source.rank))
                except Exception:  # a library of another version: time is used instead
                    self._undo[source.name] = lambda: None

    def _ticker(self, name: str, rank: int) -> Callable[[], None]:
        me, counts = self, self.counts

        def tick() -> None:
            counts[name] += 1
            if me._leader is None or rank < me._leader[0]:
                me._leader = (rank, name)
            if me._leader[1] != name:
                return
            now = perf_counter()
            mine = threading.get_ident() == me._thread
            if mine:
                me._last_tick = now
            if not counts[name] % QUICK and (now - me.began) < FASTEST * counts[name]:
                me._undo[name]()
                me._leader = None
            if mine and now >= me.pace.due:
                me.sample(sys._getframe(1))
            if mine and me._most is not None and counts[name] >= me._most:
                me._most = None
                raise StopEarly

        return tick

    # The clock

    def _time(self) -> None:
        while not self._sleep():
            now = perf_counter()
            if self._enough and self._on_main:
                if not self._busy and not self._posted and now > self._ask_at:
                    self._most = None
                    self._ask_at = now + LOST
                    end, thread = ctypes.py_object(StopEarly), ctypes.c_ulong(self._thread)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, end)  # raised at its next line
                continue
            if (
                now < self.pace.due
                or self._busy
                or self._trap.waits
                or (self._burst is not None and not self._burst.late)
            ):
                continue
            if self._on_main and self._posted:
                if now - self._posted_at > BLOCKED:
                    self._go_to_another()
                continue
            if now - self._last_tick < self.pace.patience():
                continue  # a step will come along
            if self._on_main:
                self._posted, self._posted_at = True, now
                if self._post(self._call, None) != 0:
                    self._posted = False
            else:
                frame = sys._current_frames().get(self._thread)
                if frame is None:  # it has ended
                    if self._burst is not None:
                        self._burst.stop()
                    self._go_to_another()
                else:
                    self.sample(frame)

    def _go_to_another(self) -> None:
        """The main thread waits: from now on that one is watched whose loop is at work."""
        for thread, frame in sys._current_frames().items():
            if thread not in (self._thread, threading.get_ident()) and self._in_a_loop(frame):
                self._thread, self._on_main = thread, False
                return

    def _sleep(self) -> bool:
        """Wait until the next sample is due; whether the watch is over."""
        pause = self.pace.tick()
        self._clock.sleeps()
        over = self._over.wait(pause)
        self._clock.wakes(pause)
        return over

    def _pending(self, _: Any) -> int:
        try:
            frame: FrameType | None = sys._getframe(1)
            if self._over.is_set() or frame is None:
                return 0
            self._thread, self._on_main = threading.get_ident(), True  # it waits no more
            if self.places.is_user(frame.f_code.co_filename):
                self._by_clock(frame)
            elif self.places.awaits(frame):
                self._trap.wait(loops=not self._in_a_loop(frame))
            elif self._leader is not None or self._worker or self._in_a_loop(frame):
                self._trap.set(frame, wait=self._worker)
            elif self._repeats.at_work(self.places.stack(frame)) is not None:
                self._trap.wait()
            else:
                self._attach()
                self._repeats.see(frame)
                self.pace.idle(perf_counter())
        except StopEarly:  # it has come in here, and is to end the script
            self._most = 1
        except Exception as error:  # the script goes on
            self.trouble = f"{type(error).__name__}: {error}"
        finally:
            self._posted = (
                False  # not before: with one more waiting, Python 3.11 hangs where lines are followed
            )
        return 0

    def _in_a_loop(self, frame: FrameType) -> bool:
        return any(map(self.places.loops, self.places.stack(frame)))

    def _by_clock(self, frame: FrameType) -> None:
        if self._over.is_set():
            return
        self.sample(frame)
        if self._most is not None:
            self._enough = self._by_loop() >= self._most

    def _passed(self, frame: FrameType) -> None:
        """A line of a loop whose lines are not followed, though others are: the clock does not strike."""
        if perf_counter() >= self.pace.due:
            self._by_clock(frame)

    def _by_loop(self) -> float:
        return 0.0 if self._leader is not None else self._rounds.most()

    # A sample

    def sample(self, frame: FrameType | None) -> None:
        """Count everything, if a loop is at work."""
        if self._burst is not None and self._burst.late and threading.get_ident() == self._thread:
            self._burst.stop()
        follows = self._burst is not None and not self._burst.aside
        if self._busy or follows or sys.is_finalizing():
            return
        self._busy = True
        began, work = perf_counter(), thread_time()
        try:
            self._attach()
            stack = self.places.stack(frame)
            loops = [(one, loop) for one in stack for loop in self.places.loops(one)]
            again = None if loops else self._repeats.at_work(stack)
            at_work = bool(loops) or self._leader is not None or self._worker or again is not None
            if not at_work or any(one.f_lineno is None for one in stack):
                self._repeats.see(frame)
                self.pace.idle(began)
                return
            self._repeats.forget()
            first = self.loop_began is None
            if first:
                self._census.begin()
                self._turns.shorten()
                self.loop_began = perf_counter()
            where = f"{loops[0][1].file}:{loops[0][1].line}" if loops else again or _line_of(stack)
            where = "a worker" if self._worker else where
            self.evidence.at_work_in.update((one.f_code.co_filename, code_line(one.f_code)) for one in stack)
            look = self._count(where, loops, self._trap.at or self.places.innermost(frame))
            if first:  # it has a beginning to pay for, which says nothing of those after it
                began, work = perf_counter(), thread_time()
            self.pace.sampled(began, perf_counter(), max(0.0, thread_time() - work - self._census.anew))
            if self.book.thin():
                self.pace.slower()
            if not self.pace.early:
                self._turns.restore()
            self.pace.at(where)
            self._perhaps_burst(frame, loops, look)
            if self.on_sample is not None:
                self.on_sample()
        except Exception as error:  # whatever goes wrong in here, the script goes on
            self.trouble = f"{type(error).__name__}: {error}"
        finally:
            self._busy = False

    def _meet(self, objects: list[object], types: Counter[str]) -> None:
        self.paths.world.meet(objects, types)
        meet(objects, types)

    def _count(self, where: str, loops: list[tuple[FrameType, Loop]], place: Place | None) -> Look | None:
        steps: dict[str, float] = {name: float(count) for name, count in self.counts.items() if count}
        steps.update(self._loop_steps(loops))
        look = self._census.look() if self._census.due() else None
        book = self.book
        book.open(self._clock.now() - self.began, where, steps)
        for signal in self._signals:
            if look is not None or not signal.objects:
                value = signal.value(look or Look())
                if value is not None:
                    book.put(signal.key, value)
                    self.evidence.moment(signal.key, value, place)
        if look is not None:
            book.follow_types(look.types)
            self.paths.world.meet(look.objects, look.types)
        self.paths.read()
        book.close()
        return look

    def _loop_steps(self, loops: list[tuple[FrameType, Loop]]) -> dict[str, float]:
        found: dict[str, float] = {}
        around: Count | None = None
        at: FrameType | None = None
        unknown = before = False  # whether a loop is around of which nobody knows the rounds
        for frame, loop in loops:
            if frame is not at and frame.f_code.co_flags & CO_GENERATOR:
                unknown = before  # the loop that asks a generator makes the rounds that it makes
            at, before = frame, unknown
            scope = names_of(frame) if loop.variables else {}
            counted = [name for name in loop.variables if type(scope.get(name)) is int]
            for name in counted:
                key = f"loop {loop.file}:{loop.line} {name}"
                count = self._rounds.see(key, int(scope[name]), around)  # type: ignore[call-overload]
                found[key] = float(count.total)
                self.book.strides[key] = count.stride
                if unknown and count.often:
                    self.book.loose.add(key)
            around = count if counted else around
            unknown = key in self.book.loose if counted else True
        return found

    def _perhaps_burst(
        self, frame: FrameType | None, loops: list[tuple[FrameType, Loop]], look: Look | None
    ) -> None:
        began = thread_time()
        now = perf_counter()
        here = threading.get_ident() == self._thread
        if look is None or not here or self._burst is not None:
            return
        if not self._trap.free() or not self.pace.burst_now(now):
            return
        if not self.evidence.wanted(self.book, self._signals):
            self.pace.burst_took(thread_time() - began, now)
            return
        thaw = now - (self.loop_began or now) > THAW * self._census.cost
        if self.evidence.question(self.book, look, self._signals, thaw):
            self._census.set_aside(look)
        probes = self.evidence.probes(self.book, self._signals)
        asked, at = thread_time() - began, self.book.times[-1]
        if self.evidence.soon:
            self.evidence.soon = False
            self.pace.burst_soon()

        before = dict(self.counts)

        def done(burst: Burst) -> None:
            self._burst = None
            steps = {name: count - before.get(name, 0) for name, count in self.counts.items()}
            self.evidence.add(burst, at, steps)
            self.pace.burst_took(asked + burst.cost, perf_counter())

        inner = inner_of(loops) if self.evidence.hidden(self.book, self._signals) else 0
        followed = [loop for _, loop in loops[: inner or len(loops)]]
        aside = loops[inner] if inner else None
        self._burst = Burst(self.places, followed, probes, self.evidence.makers(), done, aside, self._passed)
        self._burst.start(frame)


def _line_of(stack: list[FrameType]) -> str:
    return f"{stack[0].f_code.co_filename}:{stack[0].f_lineno}" if stack else "?"


def inner_of(loops: list[tuple[FrameType, Loop]]) -> int:
    """Which of the loops at work is the inner one: not that of a generator, which the loop around it asks."""
    found = [number for number, (frame, _) in enumerate(loops) if not frame.f_code.co_flags & CO_GENERATOR]
    return found[-1] if found else 0
