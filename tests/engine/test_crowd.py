"""Whether calls on several threads wait for one another."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import penstock as ps
from engine.probes import Light
from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.structure import LEAF
from penstock.engine import choice, crowd, roster, taken, worth
from penstock.engine.crowd import CROWDED, ENOUGH, MOSTLY, Crowd
from penstock.functions.plain_rows import Outcome
from penstock.kernels import loading

pytestmark = pytest.mark.usefixtures("one_server")
DONE = Outcome(None, 1)
init = Crowd.__init__


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What the clocks show: of the wall, of a core that is busy, and of one that is waited for."""
    shown = {"wall": 0.0, "busy": 0.0, "core": 0.0}
    monkeypatch.setattr(taken, "perf_counter", lambda: shown["wall"])
    monkeypatch.setattr(taken, "thread_time", lambda: shown["busy"])
    monkeypatch.setattr(taken, "for_a_core", lambda _: shown["core"])
    return shown


def watched(clock: dict[str, float], share: float, *, others: bool = True, **seconds: float) -> Crowd:
    """A crowd in which one call takes so many seconds of each, while there is another, or none."""
    made = Crowd(share)

    def call() -> Outcome:
        for name, more in seconds.items():
            clock[name] += more
        return DONE

    if others:
        made._inside = 1
    assert made.call(call) is DONE
    return made


@pytest.mark.parametrize(
    ("seconds", "waits"),
    [
        ({"wall": 1.0, "busy": 0.9}, False),
        ({"wall": 10.0, "busy": 4.0}, True),
        ({"wall": 2.0, "busy": 0.9, "core": 1.0}, False),
    ],
)
def test_given_calls_that_are_busy_alone_then_those_wait_that_are_not_and_have_a_core(
    seconds: dict[str, float], waits: bool, clock: dict[str, float]
) -> None:
    assert watched(clock, 1.0, **seconds).waits == waits


def test_given_calls_that_wait_for_something_alone_as_well_then_that_is_not_for_one_another(
    clock: dict[str, float],
) -> None:
    assert not watched(clock, MOSTLY / 2, wall=1000.0, busy=1.0).waits
    assert not watched(clock, MOSTLY, wall=10.0, busy=10 * MOSTLY * CROWDED + 0.1).waits
    assert watched(clock, MOSTLY, wall=10.0, busy=10 * MOSTLY * CROWDED - 0.1).waits


def test_given_a_call_without_others_then_it_says_nothing_of_a_crowd(clock: dict[str, float]) -> None:
    assert not watched(clock, 1.0, others=False, wall=1.0, busy=2 * ENOUGH).known


def test_given_a_call_that_another_one_begins_beside_then_it_counts(clock: dict[str, float]) -> None:
    made = Crowd(1.0)

    def first() -> Outcome:
        clock["wall"] += 9.0
        clock["busy"] += ENOUGH
        return made.call(lambda: DONE)

    assert made.call(first) is DONE
    assert made.known
    assert made.waits


def test_when_calls_have_been_busy_for_long_enough_then_it_is_known(clock: dict[str, float]) -> None:
    assert not watched(clock, 1.0, wall=1.0, busy=ENOUGH / 2).known
    assert watched(clock, 1.0, wall=1.0, busy=ENOUGH).known


def test_given_many_calls_that_were_no_crowd_then_nobody_watches_them_any_longer(
    clock: dict[str, float],
) -> None:
    made = Crowd(1.0)
    for _ in range(crowd.CALLS):
        assert not made.known
        made.call(lambda: DONE)
    assert made.known
    assert not made.waits


def busy(x: Any) -> int:
    """Holds Python's lock for longer than a thread may while others want it."""
    total = 0
    for i in range(500_000):
        total += i
    return int(x) + total * 0


def naps(x: Any) -> int:
    """Lets go of it, and keeps no core busy."""
    time.sleep(0.002)
    return int(x)


def run(function: Any, count: int, monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], str]:
    """On many cores, where the first calls seemed to hold nothing."""
    monkeypatch.setattr(roster, "usable_cores", lambda: worth.FEW + 1)
    monkeypatch.setattr(worth, "LEAST", 0.0)
    monkeypatch.setattr(taken, "Probe", Light)
    with ps.Dataset.range(count).map(function, num_parallel_calls=ps.AUTOTUNE).iterate() as it:
        return [int(x) for x in it], str(it.report())


def test_given_many_threads_that_wait_for_one_another_then_worker_processes_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crowd, "ENOUGH", 0.01)
    monkeypatch.setattr(crowd, "CROWDED", 9.0)  # how busy they are hangs on the machine
    got, report = run(busy, 120, monkeypatch)
    assert got == list(range(120))
    assert "called in worker processes: in threads its calls wait for one another" in report
    assert "called in threads" not in report


def test_when_a_run_ends_before_it_is_known_then_the_next_one_watches_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[float] = []
    monkeypatch.setattr(crowd.Crowd, "__init__", lambda _, share: made.append(share) or init(_, share))
    monkeypatch.setattr(roster, "usable_cores", lambda: worth.FEW + 1)
    monkeypatch.setattr(taken, "Probe", Light)
    ds = ps.Dataset.range(60).map(naps, num_parallel_calls=ps.AUTOTUNE)
    for runs in (1, 2):
        assert [int(x) for x in ds] == list(range(60))
        assert len(made) == runs


def test_given_work_that_a_kernel_will_do_then_it_is_not_measured_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loading, "_ready", False)
    block = Block(LEAF, [DenseColumn(np.arange(3))], 3)
    context = SimpleNamespace(ledger=SimpleNamespace(budget=loading.ENOUGH))
    one: Any = SimpleNamespace(_cores=2, _context=context, _function=SimpleNamespace(missed=1), _begun=0)
    assert choice.Choice._measure_over_block(one, lambda: DONE, block) is DONE
    assert one._begun == 0


def test_given_many_threads_that_wait_for_something_else_then_they_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crowd, "ENOUGH", 0.001)
    monkeypatch.setattr(crowd, "CROWDED", 9.0)
    got, report = run(naps, 400, monkeypatch)
    assert got == list(range(400))
    assert "called in worker processes" not in report
