"""`ps.doctor.watch()` and the fixture `no_leak`."""

from __future__ import annotations

import asyncio
import collections
import gc
import multiprocessing
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.doctor.watching import Watching
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
    before, plain = set(threading.enumerate()), Iterator.__next__
    with ps.doctor.watch():
        assert Iterator.__next__ is not plain
        for batch in ps.Dataset.range(2000).batch(10):
            del batch
            time.sleep(0.001)
    assert Iterator.__next__ is plain
    assert set(threading.enumerate()) <= before
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
def test_is_short(no_leak):
    pass
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
    assert "3 passed, 1 warning, 1 error" in done.stdout, done.stdout
    assert "no_leak could not tell: " in done.stdout
    assert "test_it.py:6: kept.append(bytearray(30_000))" in done.stdout


def test_given_a_call_that_waits_for_its_turn_then_no_other_is_posted_before_it_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watching, posted = Watching(), []
    monkeypatch.setattr(watching, "_by_clock", lambda frame: posted.append(watching._posted))
    watching._posted = True
    watching._pending(None)
    assert posted == [True]
    assert not watching._posted


CACHE: list[bytes] = []


def keeps(asked: Any, done: Any) -> None:
    while asked.get() is not None:
        CACHE.append(b"x" * 100_000)  # the line that a worker grows by
        done.put(1)


def test_given_a_worker_that_grows_then_the_line_in_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    asked, done = multiprocessing.Queue(), multiprocessing.Queue()
    with ps.doctor.watch() as w:
        worker = multiprocessing.Process(target=keeps, args=(asked, done))
        worker.start()
        for step in range(400):
            asked.put(step)
            done.get()
            time.sleep(0.004)
        asked.put(None)
        worker.join()
    (finding,) = w.diagnosis.findings
    assert finding.kind == "child-memory"
    assert finding.place is not None
    assert (finding.place.file, finding.place.line) == (__file__, keeps.__code__.co_firstlineno + 2)
    assert finding.chain[0] == "a worker process"
    assert list(tmp_path.glob("penstock-doctor-*")) == []


async def ticks(rounds: int) -> None:
    for _step in range(rounds):
        await asyncio.gather(asyncio.sleep(0.004), asyncio.sleep(0.003))
        KEPT.append(bytearray(30_000))


def test_given_a_loop_that_awaits_then_it_is_watched_and_the_line_is_named() -> None:
    with ps.doctor.watch() as w:
        asyncio.run(ticks(250))
    KEPT.clear()
    (finding,) = w.diagnosis.findings
    assert finding.place is not None
    assert finding.place.line == ticks.__code__.co_firstlineno + 3


MADE: queue.Queue[bytes] = queue.Queue()


def make(over: threading.Event) -> None:
    while not over.is_set():
        MADE.put(b"x" * 20_000)
        time.sleep(0.001)


def test_given_a_queue_that_another_thread_fills_then_the_line_of_that_thread_is_named() -> None:
    over = threading.Event()
    thread = threading.Thread(target=make, args=(over,))
    with ps.doctor.watch() as w:
        thread.start()
        for _step in range(250):
            MADE.get()
            time.sleep(0.006)
        over.set()
        thread.join()
    MADE.queue.clear()
    (finding,) = w.diagnosis.findings
    assert finding.place is not None
    assert finding.place.line == make.__code__.co_firstlineno + 2


def test_given_a_main_thread_that_waits_then_the_loop_of_the_other_is_watched() -> None:
    thread = threading.Thread(target=leak, args=(400,))
    with ps.doctor.watch() as w:
        thread.start()
        thread.join()
    KEPT.clear()
    (finding,) = w.diagnosis.findings
    assert finding.place is not None
    assert finding.place.line == leak.__code__.co_firstlineno + 2
    assert sys.gettrace() is None


def one_more(_step: int) -> None:
    KEPT.append(bytearray(30_000))
    time.sleep(0.004)


def test_given_a_function_that_is_called_again_and_again_without_a_loop_then_it_is_watched() -> None:
    with ps.doctor.watch() as w:
        collections.deque(map(one_more, range(300)), maxlen=0)
    KEPT.clear()
    (finding,) = w.diagnosis.findings
    assert finding.place is not None
    assert finding.place.line == one_more.__code__.co_firstlineno + 1
