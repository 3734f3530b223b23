"""What calls take, and whether they hold the lock meanwhile: measured in one run or in several."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import zlib
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from penstock.engine import gil, worth
from penstock.engine.cores import usable_cores
from penstock.engine.gil import Probe
from penstock.engine.taken import Taken
from penstock.functions.plain_rows import Outcome


def busy(x: Any) -> int:
    """Holds Python's lock for a few milliseconds."""
    total = 0
    for i in range(60_000):
        total += i
    return int(x) + total * 0


DATA = np.random.default_rng(1).integers(0, 9, 1 << 18).astype(np.uint8).tobytes()


def packs(x: Any) -> int:
    """Lets go of it, for some milliseconds."""
    return len(zlib.compress(DATA, 1)) * 0 + int(x)


def test_given_runs_that_measure_together_then_nothing_of_either_is_lost() -> None:
    both = threading.Barrier(2)

    class Seen:
        @property
        def nbytes(self) -> int:
            with suppress(threading.BrokenBarrierError):
                both.wait(0.2)  # in the middle of adding up
            return 8

    one = Taken()
    outcome = Outcome(None, 1)
    threads = [
        threading.Thread(target=one.call, args=(lambda: outcome, Seen()), kwargs={"probe": False})
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (one.rows, one.row_bytes) == (2, 8)


def test_a_probe_tells_who_holds_the_lock() -> None:
    with Probe() as holding:
        for _ in range(20):
            busy(0)
    with Probe() as waiting:
        time.sleep(0.05)
    assert holding.held > waiting.held


def test_given_code_that_is_over_soon_then_a_probe_does_not_take_its_own_nap_for_letting_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gil, "NAP", 0.02)
    monkeypatch.setattr(gil, "for_a_core", lambda _: 0.0)  # whatever else the machine does
    held = []
    for _ in range(5):
        with Probe() as probe:
            until = time.perf_counter() + 0.028
            while time.perf_counter() < until:
                pass
        held.append(probe.held)
    assert sorted(held)[2] > worth.HOLDS


def test_given_cores_that_others_use_then_waiting_for_one_is_not_waiting_for_the_lock() -> None:
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3 * usable_cores())]
    try:
        held = []
        for _ in range(5):
            with Probe() as probe:
                for i in range(20):
                    packs(i)
            held.append(probe.held)
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert sorted(held)[2] < worth.HOLDS
