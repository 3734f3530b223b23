"""Whether some code holds Python's lock: a thread beside it tries to get it, and sees how long it waits."""

from __future__ import annotations

import threading
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
        self._done = False
        self._thread = threading.Thread(target=self._try, name="penstock-probe", daemon=True)

    def __enter__(self) -> Probe:
        self._thread.start()
        self._began = perf_counter()
        return self

    def _try(self) -> None:
        while not self._done:
            self._wakes = perf_counter() + NAP + SLACK
            sleep(NAP)
            self._waited += max(0.0, perf_counter() - self._wakes)

    def __exit__(self, *_: object) -> None:
        now = perf_counter()
        waits = max(0.0, now - self._wakes)  # it may be waiting just now
        self._done = True
        self.seconds = now - self._began
        self.held = min(1.0, (self._waited + waits) / max(self.seconds, 1e-9))
        self._thread.join()
