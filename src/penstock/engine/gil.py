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
    """`with Probe() as probe:` round some code; `probe.held` is the share of time that it held the lock.

    It is a share of the `seconds` in which that would have been noticed: not of those of the first nap.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.held = 0.0
        self._waited = 0.0
        self._wakes = 0.0
        self._done = False
        self._thread = threading.Thread(target=self._try, name="penstock-probe", daemon=True)

    def __enter__(self) -> Probe:
        self._thread.start()
        self._before = for_a_core(self._thread)
        self._waited, self._began = 0.0, perf_counter()
        return self

    def _try(self) -> None:
        # Nothing here but what is measured: each call that lets go of the lock would wait for it again.
        while not self._done:
            self._wakes = perf_counter() + NAP + SLACK
            sleep(NAP)
            self._waited += max(0.0, perf_counter() - self._wakes)

    def __exit__(self, *_: object) -> None:
        now = perf_counter()
        waits = max(0.0, now - max(self._wakes, self._began))  # it may be waiting just now
        elsewhere = for_a_core(self._thread) - self._before
        self._done = True
        self.seconds = max(0.0, now - self._began - NAP - SLACK)
        waited = self._waited + waits
        self._thread.join()
        self.held = min(1.0, max(0.0, waited - elsewhere) / max(self.seconds, 1e-9))


def for_a_core(thread: threading.Thread) -> float:
    """How many seconds a thread has waited for a core so far; 0 where the system does not say."""
    try:
        said = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text()
        return int(said.split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0
