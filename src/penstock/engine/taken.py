"""What calls take: seconds, bytes, and the share of time for which they hold Python's lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from time import perf_counter, thread_time

from penstock.blocks.block import Block
from penstock.engine.gil import Probe, for_a_core
from penstock.functions.plain_rows import Outcome

_adding = threading.Lock()
"""Several runs of a dataset measure together. None of them is about to add while the process is forked."""
os.register_at_fork(before=_adding.acquire, after_in_parent=_adding.release, after_in_child=_adding.release)


class Taken:
    """What the calls took that were made through it."""

    def __init__(self) -> None:
        self.rows = 0
        self.last = 0.0
        """Seconds of the last call."""
        self.computes = False
        """Whether it kept a core busy for most of them."""
        self.probed = 0.0
        """Seconds of the calls that were probed."""
        self._held = 0.0
        self._busy = 0.0
        self._computed = self._with_core = 0.0  # of the calls that were probed
        self._nbytes = 0

    @property
    def held(self) -> float:
        """The share of time for which Python's lock was held, in the calls that were probed."""
        return self._held / max(self.probed, 1e-9)

    @property
    def busy(self) -> float:
        """Seconds that the calls kept a core busy, all together."""
        return self._busy

    @property
    def each(self) -> float:
        """Seconds that a row kept a core busy."""
        return self._busy / max(self.rows, 1)

    @property
    def share(self) -> float:
        """The part of their time that the calls that were probed kept a core busy."""
        return self._computed / self._with_core if self._with_core else 1.0

    @property
    def row_bytes(self) -> float:
        """The bytes of a row and of what is made of it."""
        return self._nbytes / max(self.rows, 1)

    def call(self, call: Callable[[], Outcome], block: Block, *, probe: bool) -> Outcome:
        """Make a call with the rows of a block, with a probe beside it or without."""
        began = perf_counter()
        if probe:
            with Probe() as lock:
                outcome, busy, seconds = timed(call)
        else:
            before = thread_time()
            outcome = call()
            busy = thread_time() - before
        with _adding:
            if probe:
                self._held += lock.held * lock.seconds
                self.probed += lock.seconds
                self._with_core += seconds
                self._computed += busy
            self.last = perf_counter() - began
            self.computes = busy > self.last / 2
            self._busy += busy
            self.rows += outcome.used
            self._nbytes += block.nbytes + (0 if outcome.block is None else outcome.block.nbytes)
        return outcome


def timed(call: Callable[[], Outcome]) -> tuple[Outcome, float, float]:
    """Make a call; what came of it, the seconds that it kept a core busy, and those that it took with one."""
    thread = threading.current_thread()
    waited, began, busy = for_a_core(thread), perf_counter(), thread_time()
    outcome = call()
    busy = thread_time() - busy
    return outcome, busy, max(busy, perf_counter() - began - (for_a_core(thread) - waited))
