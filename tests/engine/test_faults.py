"""Workers that die, hang or fail, and what becomes of their rows."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from engine.leftovers import children, descriptors, gone
from engine.probes import Heavy
from penstock.engine import roster, taken, worth
from penstock.engine.processes.lost import how_it_ended, memory_kills
from penstock.engine.processes.serving import serving

pytestmark = pytest.mark.usefixtures("one_server")


def once(folder: Path, name: str) -> bool:
    """True for the first caller of that name, whichever process it is in."""
    try:
        os.close(os.open(folder / name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def in_workers(count: int, function: Callable[..., Any], calls: int = 2, **options: Any) -> ps.Dataset:
    ds = ps.Dataset.range(count).map(function, num_parallel_calls=calls, executor="processes")
    return ds.with_options(ps.Options(**options))


def outcomes(ds: ps.Dataset) -> tuple[list[Any], str]:
    """The elements, an error in the place of each that failed; and the report."""
    got: list[Any] = []
    with ds.iterate() as it:
        while True:
            try:
                got.append(int(next(it)))
            except ps.errors.ElementError as error:
                got.append(error)
            except StopIteration:
                return got, str(it.report())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_when_a_worker_is_killed_then_its_block_is_redone(tmp_path: Path, number: signal.Signals) -> None:
    def dies(x: Any) -> Any:
        if int(x) == 33 and once(tmp_path, "died"):
            os.kill(os.getpid(), number)
            time.sleep(10)
        return int(x) * 2

    got, report = outcomes(in_workers(100, dies, block_rows=8))
    assert got == list(range(0, 200, 2))
    assert "1 of its workers lost and replaced" in report
    assert re.search(r"(at|element) 33\b", report), report
    assert number.name in report and "when last seen" in report


def test_when_a_worker_dies_of_its_first_element_then_it_is_known_what_it_held(tmp_path: Path) -> None:
    def dies(x: Any) -> Any:
        if once(tmp_path, "dead"):
            os.kill(os.getpid(), signal.SIGSEGV)
        return int(x)

    got, report = outcomes(in_workers(20, dies, block_rows=4))
    assert got == list(range(20))
    assert re.search(r"killed by SIGSEGV, it held .* when last seen", report), report


def test_when_workers_die_of_one_element_then_that_is_an_error_and_the_others_arrive() -> None:
    def dies(x: Any) -> Any:
        if int(x) in (11, 12, 30):
            os._exit(7)
        return int(x)

    got, report = outcomes(in_workers(40, dies, block_rows=10))
    for bad in (11, 12, 30):
        error = got[bad]
        assert isinstance(error, ps.errors.WorkerError)
        assert (error.op, error.number) == ("map", bad)
        assert "status 7" in str(error) and "test_faults.py" in str(error)
        got[bad] = bad
    assert got == list(range(40))
    assert "9 of its workers lost and replaced" in report


def test_given_ignore_errors_then_such_elements_are_left_out() -> None:
    ds = in_workers(20, lambda x: os._exit(1) if int(x) == 5 else int(x)).ignore_errors()
    assert [int(x) for x in ds] == [x for x in range(20) if x != 5]


@pytest.fixture
def found_out(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any]], ps.Dataset]:
    """A dataset whose calls an earlier run has found out to be better made in worker processes."""
    monkeypatch.setattr(roster, "usable_cores", lambda: 2)
    monkeypatch.setattr(worth, "LEAST", 0.0)
    monkeypatch.setattr(taken, "Probe", Heavy)

    def declared(function: Callable[..., Any]) -> ps.Dataset:
        ds = ps.Dataset.range(300).map(function, num_parallel_calls=ps.AUTOTUNE)
        outcomes(ds)
        assert "in worker processes, as measured in an earlier run" in ds.explain()
        assert list(in_workers(1, function)) == [0]  # the server has what the function needs
        return ds

    return declared


def busy() -> int:
    return sum(i & 1 for i in range(10_000))


def test_given_auto_when_workers_die_of_elements_in_a_row_then_each_is_an_error_and_none_is_called_here(
    found_out: Callable[[Callable[..., Any]], ps.Dataset],
) -> None:
    here = os.getpid()

    def dies(x: Any) -> int:
        busy()
        if os.getpid() != here and int(x) in (150, 151, 200):
            os._exit(7)
        return int(x)

    got, _ = outcomes(found_out(dies))
    for bad in (150, 151, 200):
        assert isinstance(got[bad], ps.errors.WorkerError), got[bad]
        got[bad] = bad
    assert got == list(range(300))


def test_given_auto_when_an_element_fails_then_the_rest_of_its_block_is_called_in_workers_too(
    found_out: Callable[[Callable[..., Any]], ps.Dataset],
) -> None:
    here = os.getpid()

    def fails(x: Any) -> int:
        busy()
        if int(x) in (120, 121):
            raise ValueError("no")
        return int(os.getpid() == here)

    got, _ = outcomes(found_out(fails))
    assert [number for number, each in enumerate(got) if each != 0] == [120, 121]


def test_then_functions_see_the_arguments_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", "--size", "3"])
    ds = in_workers(4, lambda _: " ".join(sys.argv))
    assert set(map(str, ds)) == {"train.py --size 3"}


def test_when_a_worker_is_stuck_past_the_timeout_then_it_is_replaced(tmp_path: Path) -> None:
    def sticks(x: Any) -> Any:
        if int(x) == 9 and once(tmp_path, "stuck"):
            time.sleep(60)
        return int(x)

    got, report = outcomes(in_workers(30, sticks, worker_timeout=0.3))
    assert got == list(range(30))
    assert "stuck for more than 0.3 s" in report and "9" in report


def test_given_many_rows_a_block_then_the_timeout_is_for_each_element() -> None:
    def slow(x: Any) -> Any:
        time.sleep(0.06)
        return int(x)

    got, report = outcomes(in_workers(24, slow, block_rows=12, worker_timeout=0.5))
    assert got == list(range(24))
    assert "lost" not in report


def test_when_a_worker_is_stopped_then_the_timeout_finds_it(tmp_path: Path) -> None:
    def stops(x: Any) -> Any:
        if int(x) == 3 and once(tmp_path, "stopped"):
            os.kill(os.getpid(), signal.SIGSTOP)
        return int(x)

    got, report = outcomes(in_workers(10, stops, worker_timeout=0.3))
    assert got == list(range(10))
    assert "stuck" in report


def test_when_the_server_is_killed_then_another_takes_its_place() -> None:
    with in_workers(200, lambda x: int(x), block_rows=4).iterate() as it:
        got = [int(next(it)) for _ in range(50)]
        server = serving._server
        assert server is not None
        os.kill(server._process.pid, signal.SIGKILL)
        assert gone({server._process.pid})  # and its workers are told to
        got += [int(x) for x in it]
    assert got == list(range(200))
    assert serving._server is not server


def test_given_a_worker_stuck_in_a_function_then_closing_takes_no_longer_than_a_second() -> None:
    before = children()
    it = in_workers(100, lambda x: time.sleep(60) if int(x) > 20 else int(x), block_rows=4).iterate()
    for _ in range(8):
        next(it)
    began = time.monotonic()
    it.close()
    took = time.monotonic() - began
    assert gone(children() - before - {serving._server._process.pid if serving._server else 0})
    assert took < 30  # and not the minute that the function sleeps


def test_when_closed_while_another_thread_waits_then_that_one_is_told() -> None:
    it = in_workers(10, lambda x: time.sleep(60)).iterate()
    told: list[BaseException] = []

    def wait() -> None:
        try:
            next(it)
        except BaseException as error:
            told.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    while not it._run.root._running._asides:  # type: ignore[attr-defined]
        time.sleep(0.01)
    it.close()
    waiting.join(20)
    assert not waiting.is_alive()
    assert isinstance(told[0], ps.errors.ClosedError)


INTERRUPTED = """
import os, sys, threading, time, signal
import penstock as ps
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
def slow(x):
    time.sleep(60 if int(x) > 5 else 0)
    return int(x)
it = iter(ps.Dataset.range(100).map(slow, num_parallel_calls=2, executor="processes"))
next(it)
print("ready", flush=True)
sys.stdin.readline()
{then}
"""


def start(tmp_path: Path, then: str) -> tuple[subprocess.Popen[str], set[int]]:
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED.format(then=then))
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    workers = children(process.pid)
    assert workers
    assert process.stdin is not None
    process.stdin.write("go on\n")
    process.stdin.flush()
    return process, workers


def test_when_ctrl_c_is_pressed_then_everything_ends_at_once(tmp_path: Path) -> None:
    process, workers = start(tmp_path, "list(it)")
    time.sleep(0.2)  # it waits for a worker now, most likely
    os.killpg(process.pid, signal.SIGINT)
    _, complaint = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT or process.returncode == 130 or process.returncode == 1
    assert complaint.count("KeyboardInterrupt") == 1  # and none of a worker's
    assert gone(workers)


@pytest.mark.parametrize("then", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(0)", "sys.exit(0)"])
def test_when_the_process_dies_then_its_workers_go_with_it(tmp_path: Path, then: str) -> None:
    process, workers = start(tmp_path, then)
    process.communicate(timeout=30)
    assert gone(workers)


def test_when_the_memory_limit_kills_then_the_message_says_so(tmp_path: Path) -> None:
    said = how_it_ended(signal.SIGKILL, memory=3 << 30, by_limit=True, stuck=None)
    assert "SIGKILL" in said and "memory limit of the container" in said and "3 GiB" in said
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/job\n")
    group = tmp_path / "sys/fs/cgroup/job"
    group.mkdir(parents=True)
    (group / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\n")
    assert memory_kills(tmp_path) == 2


def test_given_a_function_that_fails_to_load_then_the_error_says_so() -> None:
    class Bad:
        def __reduce__(self) -> Any:
            return (int, ("no number",))

        def __call__(self, x: Any) -> Any:
            return x

    with pytest.raises(ps.errors.PenstockError, match="could not be loaded in a worker process: ValueError"):
        list(in_workers(5, Bad()))


FAULTS = 200


def test_given_kills_stalls_and_exceptions_then_every_element_comes_once_in_order(tmp_path: Path) -> None:
    """Two hundred faults in one run, at elements drawn at random, besides kills from outside."""
    count = 3000
    draw = random.Random(20261115)
    kinds = {number: draw.choice("kkkkkkseoo") for number in draw.sample(range(count), FAULTS)}

    def troubled(x: Any) -> Any:
        number = int(x)
        kind = kinds.get(number, "")
        if kind == "e":
            raise ValueError("as drawn")
        if kind and once(tmp_path, str(number)):
            if kind == "k":
                os.kill(os.getpid(), signal.SIGKILL)
            if kind == "s":
                time.sleep(60)
            if kind == "o":
                os._exit(3)
        return number, np.full(number % 50, number)

    before, threads, files = children(), set(threading.enumerate()), descriptors()
    server = serving._server
    known = {server._process.pid} if server is not None else set()
    got: list[Any] = []
    ds = ps.Dataset.range(count).map(troubled, num_parallel_calls=3, executor="processes")
    with ds.with_options(ps.Options(worker_timeout=0.5, block_rows=16)).iterate() as it:
        while True:
            try:
                number, row = next(it)
            except ps.errors.FunctionError as error:
                got.append(error.number)
                assert kinds[error.number] == "e"
                continue
            except StopIteration:
                break
            assert row.tolist() == [int(number)] * (int(number) % 50)
            got.append(int(number))
            if draw.random() < 0.01:
                for pid in children() - before - known:  # whichever there are: the next ones may be gone
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        continue
                    break
        report = str(it.report())
    assert got == list(range(count))
    assert "of its workers lost and replaced" in report
    assert all((tmp_path / str(number)).exists() for number, kind in kinds.items() if kind != "e")
    it._run.ledger.settle()
    assert it._run.ledger.held == 0
    assert set(threading.enumerate()) <= threads
    left = {serving._server._process.pid} if serving._server is not None else set()
    assert gone(children() - before - left)
    assert len(descriptors() - files) <= 1  # the socket of a server that was not there before
