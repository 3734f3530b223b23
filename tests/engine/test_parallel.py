"""The seam of a map that works on several blocks at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract
from penstock.engine import roster
from penstock.engine.cores import usable_cores
from penstock.ops.map import RunningMap, _Call

DATA = np.random.default_rng(3).integers(0, 255, (3000, 40)).astype(np.uint8)


@pytest.fixture(autouse=True)
def every_block_is_worth_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "WORTH", 0.0)
    monkeypatch.setattr(roster, "usable_cores", lambda: 8)


def scaled(x: Any) -> Any:
    return x.astype(np.float32) / 255


def double(x: Any) -> Any:
    return x * 2


def pair(x: Any) -> Any:
    return x, x + 1


def noisy(x: Any) -> Any:
    return x + ps.random.uniform()


def plain(x: Any) -> Any:
    return int(x) + 1


class TestParallelMap(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        numbers = ps.Dataset.range(60)
        return {
            "autotune": lambda: numbers.map(double, num_parallel_calls=ps.AUTOTUNE),
            "three": lambda: numbers.map(pair, num_parallel_calls=3).batch(7),
            "random": lambda: numbers.map(noisy, num_parallel_calls=3),
            "row by row": lambda: numbers.map(plain, num_parallel_calls=3),
            "shuffled": lambda: numbers.map(double, num_parallel_calls=2).shuffle(20, seed=1),
            "ahead": lambda: numbers.map(double, num_parallel_calls=4).batch(4).prefetch(2),
        }


@pytest.mark.parametrize("calls", [2, 3, 8])
@pytest.mark.parametrize("ahead", [False, True])
def test_then_the_stream_is_that_of_one_call_at_a_time(calls: int, ahead: bool) -> None:
    rows = ps.Dataset.from_tensor_slices(DATA)
    one = rows.map(scaled).batch(16)
    many = rows.map(scaled, num_parallel_calls=calls).batch(16)
    small = ps.Options(memory="1MiB")
    many = (many.prefetch(3) if ahead else many).with_options(small)
    for left, right in zip(one, many, strict=True):
        np.testing.assert_array_equal(left, right)


def test_then_several_threads_work_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    inside: set[int] = set()
    met = threading.Event()
    do = _Call.do

    def meet(call: _Call, rows: int) -> Any:
        if known:
            inside.add(threading.get_ident())
            if len(inside) == 3:
                met.set()
            met.wait(10)  # nobody goes on alone
        return do(call, rows)

    known = False
    monkeypatch.setattr(_Call, "do", meet)
    ds = ps.Dataset.range(400).map(lambda x: x * 2, num_parallel_calls=3)
    with ds.with_options(ps.Options(block_rows=4)).iterate() as it:
        got = [int(next(it)) for _ in range(4)]  # from here on, what a row takes is known
        known = True
        got += [int(x) for x in it]
    assert met.is_set()
    assert got == list(range(0, 800, 2))


def test_when_rows_fail_then_the_errors_are_raised_in_their_place() -> None:
    table = np.arange(50)
    ds = ps.Dataset.range(120).map(lambda x: table[x % 60], num_parallel_calls=4)
    it = iter(ds.with_options(ps.Options(block_rows=5)))
    for number in range(120):
        if number % 60 < 50:
            assert int(next(it)) == number % 60
        else:
            with pytest.raises(ps.errors.FunctionError, match=rf"element {number}: IndexError"):
                next(it)
    assert list(it) == []


def test_when_the_source_fails_then_the_elements_before_it_arrive() -> None:
    def generate() -> Iterator[int]:
        yield from range(30)
        raise OSError("the disk is gone")

    it = iter(ps.Dataset.from_generator(generate).map(lambda x: x + 1, num_parallel_calls=4))
    assert [int(next(it)) for _ in range(30)] == list(range(1, 31))
    with pytest.raises(ps.errors.FunctionError, match="the disk is gone"):
        next(it)
    assert list(it) == []


def test_given_elements_of_one_size_then_the_budget_holds_with_many_calls() -> None:
    budget = 8 << 20
    rows = np.zeros((400, 1 << 16), np.uint8)
    ds = ps.Dataset.from_tensor_slices(rows).map(scaled, num_parallel_calls=16)
    with ds.iterate(memory=budget) as it:
        assert sum(1 for _ in it) == 400
        assert it._run.ledger.peak <= budget
        assert it._run.ledger.claimed == 0


def test_given_more_calls_than_cores_then_there_are_no_more_threads_than_cores() -> None:
    before = set(threading.enumerate())
    ds = ps.Dataset.from_tensor_slices(DATA).map(scaled, num_parallel_calls=50)
    with ds.with_options(ps.Options(block_rows=8)).iterate() as it:
        for _ in range(100):
            next(it)
        assert len(set(threading.enumerate()) - before) == 7


@pytest.mark.parametrize("drop", [False, True])
def test_when_the_consumer_stops_early_then_no_thread_is_left(drop: bool) -> None:
    before = set(threading.enumerate())
    ds = ps.Dataset.from_tensor_slices(DATA).map(scaled, num_parallel_calls=4)
    it = ds.with_options(ps.Options(block_rows=8)).iterate()
    for _ in range(100):
        next(it)
    started = set(threading.enumerate()) - before
    assert len(started) == 3
    if drop:
        del it
    else:
        it.close()
    for thread in started:
        thread.join(5)
    assert not any(thread.is_alive() for thread in started)


def test_when_a_thread_is_stuck_then_closing_does_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    free, stuck = threading.Event(), threading.Event()
    divide = RunningMap.divide

    def sticks(running: RunningMap, rows: int) -> Any:
        if threading.current_thread().name.startswith("penstock-"):
            stuck.set()
            free.wait(30)
        return divide(running, rows)

    monkeypatch.setattr(RunningMap, "divide", sticks)
    ds = ps.Dataset.range(1000).map(lambda x: x + 1, num_parallel_calls=2)
    it = ds.with_options(ps.Options(block_rows=4)).iterate()
    for _ in range(4):
        next(it)
    assert stuck.wait(10)
    it.close()
    assert it._run.closed
    free.set()


def test_a_quota_of_the_container_limits_the_cores(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/job\n")
    group = tmp_path / "sys/fs/cgroup/job"
    group.mkdir(parents=True)
    (group / "cpu.max").write_text("100000 100000\n")
    assert usable_cores(tmp_path) == 1
    (group / "cpu.max").write_text("max 100000\n")
    assert usable_cores(tmp_path) == usable_cores()


def test_a_quota_of_version_1_limits_them_too(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("3:cpu,cpuacct:/job\n")
    group = tmp_path / "sys/fs/cgroup/cpu,cpuacct/job"
    group.mkdir(parents=True)
    (group / "cpu.cfs_quota_us").write_text("50000\n")
    (group / "cpu.cfs_period_us").write_text("100000\n")
    assert usable_cores(tmp_path) == 1
    (group / "cpu.cfs_quota_us").write_text("-1\n")
    assert usable_cores(tmp_path) == usable_cores()


def test_given_a_function_that_waits_then_its_calls_wait_at_the_same_time() -> None:
    inside: set[int] = set()
    met = threading.Event()

    def waits(x: Any) -> Any:
        if x > 0:
            inside.add(threading.get_ident())
            if len(inside) == 3:
                met.set()
            met.wait(10)
        return int(x) + 1

    ds = ps.Dataset.range(60).map(waits, num_parallel_calls=3)
    assert [int(x) for x in ds] == list(range(1, 61))
    assert met.is_set()


def test_when_one_call_waits_long_then_the_others_go_on_to_as_many_rows_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(roster, "WORTH", 0.0)
    began: set[int] = set()
    enough = threading.Event()
    in_time: list[bool] = []
    calls, slow = 4, 20

    def asks(x: Any) -> int:
        number = int(x)
        began.add(number)
        if {*range(slow + 1, slow + 1 + 2 * (calls - 1))} <= began:
            enough.set()
        if number == slow:
            in_time.append(enough.wait(10))
        return number

    ds = ps.Dataset.range(60).map(asks, num_parallel_calls=calls, executor="threads")
    with ds.with_options(ps.Options(block_rows=1)).iterate() as it:
        assert [int(x) for x in it] == list(range(60))
    assert in_time == [True]


def test_given_a_batch_that_is_half_of_the_budget_then_many_calls_leave_it_room() -> None:
    def wide(x: Any) -> Any:
        time.sleep(0.001 * (int(x) % 5))
        return np.full(2 << 20, int(x) & 127, np.uint8)

    ds = ps.Dataset.range(150).map(wide, num_parallel_calls=32, executor="threads").batch(64)
    for _ in range(4):
        with ds.iterate(memory="256MiB") as it:
            assert sum(len(batch) for batch in it) == 150
            assert it._run.ledger.peak <= it._run.ledger.budget


def test_given_rows_that_fail_and_no_order_when_who_pulls_calls_the_rest_then_nobody_waits_for_ever() -> None:
    def slow(x: Any) -> Any:
        until = time.perf_counter() + 4e-5
        while time.perf_counter() < until:
            pass
        if x % 15 == 14:
            raise ValueError("no")
        return x

    ds = ps.Dataset.range(1000).map(slow, num_parallel_calls=2, deterministic=False).ignore_errors()
    got: list[list[int]] = []
    for _ in range(8):  # of two passes one used to wait for ever
        it = ds.iterate()
        thread = threading.Thread(target=lambda it=it: got.append(sorted(int(x) for x in it)), daemon=True)
        thread.start()
        thread.join(30)
        it.close()
        thread.join(30)
    assert got == [[x for x in range(1000) if x % 15 != 14]] * 8
