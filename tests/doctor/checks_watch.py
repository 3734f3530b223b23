"""`ps.doctor.watch()` and the fixture `no_leak`."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import penstock as ps
from penstock.engine.iterator import Iterator

KEPT: list[bytearray] = []


def leak(rounds: int) -> None:
    for _step in range(rounds):
        KEPT.append(bytearray(30_000))
        time.sleep(0.004)


def test_given_a_loop_that_leaks_then_the_watch_names_the_line() -> None:
    with ps.doctor.watch() as w:
        leak(250)
    KEPT.clear()
    assert w.leaks
    (finding,) = w.diagnosis.findings
    assert finding.place is not None
    assert finding.place.file == __file__
    assert finding.place.line == leak.__code__.co_firstlineno + 2
    assert "KEPT" in str(w)
    assert "<svg" in w._repr_html_()


def test_given_a_watch_that_is_over_then_nothing_of_it_is_left() -> None:
    before, plain = threading.active_count(), Iterator.__next__
    with ps.doctor.watch():
        assert Iterator.__next__ is not plain
        for batch in ps.Dataset.range(2000).batch(10):
            del batch
            time.sleep(0.001)
    assert Iterator.__next__ is plain
    assert threading.active_count() == before
    assert sys.gettrace() is None
    assert gc.get_freeze_count() == 0


def test_given_elements_of_penstock_then_they_are_the_steps() -> None:
    with ps.doctor.watch() as w:
        for _ in ps.Dataset.range(3000).batch(10):
            time.sleep(0.002)
    assert w.diagnosis.steps.endswith("elements of a Penstock iterator")
    assert not w.leaks


def test_given_local_variables_then_they_live_no_longer_because_they_are_watched() -> None:
    class Big:
        pass

    alive = []

    def work() -> None:
        for _ in range(150):
            big = Big()
            alive.append(sum(isinstance(one, Big) for one in gc.get_objects()))
            del big
            time.sleep(0.003)

    with ps.doctor.watch():
        work()
    assert max(alive) == 1


def test_given_a_watch_that_is_not_over_then_asking_is_an_error() -> None:
    with ps.doctor.watch() as w, pytest.raises(RuntimeError, match="not over"):
        _ = w.leaks


TESTS = """
import time
kept = []
def test_leaks(no_leak):
    for step in range(250):
        kept.append(bytearray(30_000))
        time.sleep(0.004)
def test_is_clean(no_leak):
    for step in range(250):
        time.sleep(0.004)
"""


def test_given_the_fixture_then_a_test_that_leaks_fails_and_says_where(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    # As a plugin by name: an installed Penstock brings it along by itself.
    known = "penstock.doctor.fixture"
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        known,
        "-p",
        "no:cacheprovider",
        "-p",
        "no:penstock",
        "test_it.py",
    ]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=os.environ, timeout=240)
    assert "2 passed, 1 error" in done.stdout, done.stdout
    assert "test_it.py:6: kept.append(bytearray(30_000))" in done.stdout
