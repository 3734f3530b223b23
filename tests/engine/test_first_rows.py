"""The first rows of a function that nobody knows yet: they wait neither for one another nor for workers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from engine.probes import Heavy
from penstock.engine import choice, executor, roster, taken, worth

ASKED = 20
NEVER = 1e9


@pytest.fixture(autouse=True)
def heavy_calls_on_two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "usable_cores", lambda: 2)
    monkeypatch.setattr(worth, "LEAST", 0.0)
    monkeypatch.setattr(taken, "Probe", Heavy)
    monkeypatch.setattr(taken, "thread_time", time.perf_counter)  # whatever else the cores have to do
    monkeypatch.setattr(worth, "server_is_there", lambda: False)


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows had been taken in whenever worker processes were gone to."""
    found: list[int] = []
    use = executor.Executor._use_workers

    def watched(self: executor.Executor, why: str) -> bool:
        found.append(self._portions.begun)
        return use(self, why)

    monkeypatch.setattr(executor.Executor, "_use_workers", watched)
    return found


def busy(x: Any) -> int:
    """Some milliseconds of Python."""
    total = 0
    for i in range(40_000):
        total += i
    return int(x) + total * 0


def pid(x: Any) -> int:
    """The process that calls it, some milliseconds later."""
    return busy(0) + os.getpid()


def auto(function: Any) -> ps.Dataset:
    return ps.Dataset.range(300).map(function, num_parallel_calls=ps.AUTOTUNE)


def test_given_first_rows_that_are_soon_there_then_workers_are_started_after_them(
    gone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worth, "SOON", NEVER)
    with auto(pid).batch(ASKED).iterate() as it:
        assert set(next(it).tolist()) == {os.getpid()}
        assert not gone
        assert set(next(it).tolist()) >= {os.getpid()}
        assert len(gone) == 1 and gone[0] > ASKED
        for _ in it:
            pass


@pytest.mark.parametrize(("soon", "there"), [(0.0, False), (NEVER, True)], ids=["long", "server"])
def test_given_first_rows_that_take_longer_or_a_server_then_nobody_waits(
    gone: list[int], soon: float, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "MEASURED", 1e-6)
    monkeypatch.setattr(choice, "ONE_THREAD", NEVER)
    monkeypatch.setattr(worth, "SOON", soon)
    monkeypatch.setattr(worth, "server_is_there", lambda: there)
    with auto(busy).batch(ASKED).iterate() as it:
        next(it)
        assert len(gone) == 1 and gone[0] <= ASKED


@pytest.fixture
def known() -> ps.Dataset:
    """A dataset whose calls an earlier run has found out to be better made in worker processes."""
    ds = auto(busy).batch(ASKED)
    with ds.iterate() as it:
        assert len(list(it)) == 300 / ASKED
        assert "called in worker processes" in str(it.report())
    return ds


def begun(ds: ps.Dataset) -> str:
    """What the report says after the first batch."""
    with ds.iterate() as it:
        assert next(it).tolist() == list(range(ASKED))
        return str(it.report())


def test_given_a_later_run_and_no_server_then_the_first_rows_do_not_wait_for_one_either(
    known: ps.Dataset, gone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worth, "SOON", NEVER)
    for _ in range(3):
        assert "called in" not in begun(known)
    assert not gone
    assert len(list(known)) == 300 / ASKED
    assert len(gone) == 1 and gone[0] > ASKED


def test_given_a_later_run_and_a_server_then_it_begins_with_workers(
    known: ps.Dataset, gone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worth, "server_is_there", lambda: True)
    assert "called in worker processes" in begun(known)
    assert gone == [0]


def test_given_a_later_run_and_first_rows_that_take_long_then_workers_are_started_at_once(
    known: ps.Dataset, gone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worth, "SOON", 0.0)
    begun(known)
    assert gone == [1]


def test_given_runs_too_short_to_measure_calls_in_then_it_goes_on_in_the_next() -> None:
    ds = auto(busy).batch(2)
    said: list[bool] = []
    while not any(said) and len(said) < 50:
        with ds.iterate() as it:
            next(it)
        said.append("as measured in an earlier run" in str(ds.explain()))
    assert said[-1] and not said[0]


@pytest.mark.parametrize(
    ("clock", "threads"), [(time.perf_counter, 1), (lambda: 0.0, 2)], ids=["computes", "waits"]
)
def test_until_calls_are_measured_then_those_that_compute_are_made_on_one_thread(
    clock: Callable[[], float], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taken, "thread_time", clock)  # that of a core which is busy, or is not
    monkeypatch.setattr(choice, "MEASURED", NEVER)
    monkeypatch.setattr(choice, "ONE_THREAD", NEVER)
    monkeypatch.setattr(choice, "LONG", NEVER)
    found: set[int] = set()

    def naps(x: Any) -> int:
        found.add(threading.get_ident())
        time.sleep(0.002)
        return int(x)

    assert [int(x) for x in auto(naps).take(100)] == list(range(100))
    assert len(found) == threads


@pytest.mark.parametrize(
    ("name", "value"), [("LONG", 1e-3), ("ONE_THREAD", 0)], ids=["calls that take long", "calls enough"]
)
def test_given_calls_that_cannot_be_measured_soon_then_they_are_made_on_several_threads(
    name: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "MEASURED", NEVER)
    monkeypatch.setattr(choice, "ONE_THREAD", NEVER)
    monkeypatch.setattr(choice, "LONG", NEVER)
    monkeypatch.setattr(choice, name, value)
    found: set[int] = set()

    def naps(x: Any) -> int:
        found.add(threading.get_ident())
        time.sleep(0.002)
        return int(x)

    assert [int(x) for x in auto(naps).take(100)] == list(range(100))
    assert len(found) == 2
