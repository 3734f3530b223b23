"""What AUTOTUNE chooses in a run, and that it changes nothing else."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.engine import depth, roster, tuner, turn


@pytest.fixture(autouse=True)
def quick_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure for a moment only, so that much is tried in a short run."""
    for module in (depth, tuner, turn):
        monkeypatch.setattr(module, "WINDOW", 0.004)
        monkeypatch.setattr(module, "AGAIN", 0.01)
    monkeypatch.setattr(tuner, "LONGEST", 0.02)
    monkeypatch.setattr(tuner, "SETTLING", 0.0)
    monkeypatch.setattr(roster, "usable_cores", lambda: 4)


def waits(x: Any) -> int:
    time.sleep(0.0005)
    return int(x) * 3


def part(n: Any) -> ps.Dataset:
    return ps.Dataset.range(40 * n, 40 * n + 40).map(waits)


PIPELINES = {
    "a function that waits": lambda calls: ps.Dataset.range(800).map(waits, num_parallel_calls=calls),
    "a block at a time": lambda calls: (
        ps.Dataset.range(40_000).map(lambda x: np.zeros(64) + x, num_parallel_calls=calls).map(lambda x: x[0])
    ),
    "datasets": lambda calls: ps.Dataset.range(20).interleave(part, 5, 2, calls),
    "both": lambda calls: (
        ps.Dataset.range(20).interleave(part, 5, 2, calls).map(waits, num_parallel_calls=calls).shuffle(50)
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_given_numbers_that_change_while_it_runs_then_the_stream_is_the_same(name: str) -> None:
    with PIPELINES[name](None).iterate(seed=1, epoch=0) as it:
        expected = [np.asarray(x).tolist() for x in it]
    tuned = PIPELINES[name](ps.AUTOTUNE).prefetch(ps.AUTOTUNE)
    with tuned.iterate(seed=1, epoch=0) as it:
        assert [np.asarray(x).tolist() for x in it] == expected


@pytest.mark.parametrize("cores", [1, 4])
def test_given_a_function_that_waits_then_more_calls_than_cores_are_made_and_the_report_says_so(
    monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(roster, "usable_cores", lambda: cores)
    inside, most, lock = 0, 0, threading.Lock()

    def asks(x: Any) -> int:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.002)
        with lock:
            inside -= 1
        return int(x)

    ds = ps.Dataset.range(5_000).map(asks, num_parallel_calls=ps.AUTOTUNE)
    with ds.iterate() as it:
        for _ in it:
            if most > cores:
                break
        report = it.report()
    chosen = {each.what: each for each in report.ops[-1].chosen}
    assert "calls at once" in chosen
    assert f"map: {chosen['calls at once']}" in str(report)
    assert report.as_dict()["ops"][-1]["chosen"][0]["what"] == "calls at once"
    assert most > cores


def test_given_numbers_of_ones_own_then_none_is_chosen() -> None:
    ds = ps.Dataset.range(200).map(waits, num_parallel_calls=3).prefetch(2)
    with ds.iterate() as it:
        list(it)
        whats = {each.what for op in it.report().ops for each in op.chosen}
    assert whats <= {"rows a block"}


def test_given_a_container_of_one_core_then_calls_that_compute_stay_at_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(roster, "usable_cores", lambda: 1)
    before = set(threading.enumerate())
    ds = ps.Dataset.range(30_000).map(lambda x: np.zeros(256) + x, num_parallel_calls=ps.AUTOTUNE)
    with ds.iterate() as it:
        for _ in it:
            pass
        assert set(threading.enumerate()) <= before
