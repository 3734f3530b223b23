"""Whether some code holds Python's lock: a thread beside it tries to get it, and sees how long it waits.

A thread also waits for a core, where others have them all. Linux says how long, and that does not count.
"""

from __future__ import annotations

import threading
from pathlib import Path
from time import perf_counter, sleep

NAP = 0.0003
"""Seconds between two tries."""
SLACK = 0.0002
"""Seconds by which the operating system may wake the thread too late."""


class Probe:
    """`with Probe() as probe:` round some code; `probe.held` is the share of time that it held the lock."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.held = 0.0
        self._waited = 0.0
        self._wakes = 0.0
        self._for_a_core = 0.0
        self._done = False
        self._thread = threading.Thread(target=self._try, name="penstock-probe", daemon=True)

    def __enter__(self) -> Probe:
        self._thread.start()
        self._began = perf_counter()
        return self

    def _try(self) -> None:
        before = for_a_core()
        while not self._done:
            self._wakes = perf_counter() + NAP + SLACK
            sleep(NAP)
            self._waited += max(0.0, perf_counter() - self._wakes)
        self._for_a_core = for_a_core() - before

    def __exit__(self, *_: object) -> None:
        now = perf_counter()
        waits = max(0.0, now - self._wakes)  # it may be waiting just now
        self._done = True
        self.seconds = now - self._began
        waited = self._waited + waits
        self._thread.join()
        self.held = min(1.0, max(0.0, waited - self._for_a_core) / max(self.seconds, 1e-9))


def for_a_core() -> float:
    """How many seconds this thread has waited for a core so far; 0 where the system does not say."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0
