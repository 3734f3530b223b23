"""Which way a map's function is called: as asked for, or as measured."""

from __future__ import annotations

import errno
import os
import re
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from engine.probes import Heavy, Light, Partly
from penstock.engine import roster, taken, worth
from penstock.engine.gil import Probe
from penstock.engine.processes import starting
from penstock.engine.processes.server_link import Server
from penstock.engine.processes.serving import serving
from penstock.engine.processes.starting import Functions
from penstock.engine.processes.travel import Packing

pytestmark = pytest.mark.usefixtures("ready_server")


@pytest.fixture(autouse=True)
def two_cores_and_long_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "usable_cores", lambda: 2)
    monkeypatch.setattr(worth, "LEAST", 0.0)
    monkeypatch.setattr(taken, "Probe", Heavy)


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


def run(ds: ps.Dataset) -> tuple[list[int], str]:
    with ds.iterate() as it:
        return [int(x) for x in it], str(it.report())


def auto(function: Callable[..., Any], count: int = 60) -> ps.Dataset:
    return ps.Dataset.range(count).map(function, num_parallel_calls=ps.AUTOTUNE)


def test_given_a_function_that_holds_the_lock_then_worker_processes_call_it() -> None:
    got, report = run(auto(busy, 200))
    assert got == list(range(200))
    assert "called in worker processes: it computes for" in report


@pytest.mark.parametrize(("probe", "who"), [(Heavy, "worker processes"), (Light, "threads")])
def test_given_a_second_run_then_it_begins_as_the_first_one_ended(
    probe: type[Probe], who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taken, "Probe", probe)
    ds = auto(busy, 100)
    run(ds)

    def measured() -> Any:
        raise AssertionError("it was measured before")

    monkeypatch.setattr(taken, "Probe", measured)
    got, report = run(ds)
    assert got == list(range(100))
    assert f"called in {who}: it computes for" in report


@pytest.mark.parametrize(("probe", "who"), [(Heavy, "worker processes"), (Light, "threads")])
def test_given_a_run_that_has_found_it_out_then_the_plan_says_who_makes_calls_and_why(
    probe: type[Partly], who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taken, "Probe", probe)
    ds = auto(busy, 100)
    run(ds)
    said = (
        rf"; in {who}, as measured in an earlier run: it computes for \S+ ms an element, and holds "
        rf"Python's lock \(the GIL\) for {probe.part:.0%} of that"
    )
    assert re.search(said, ds.batch(2).explain())


def test_given_a_second_run_then_workers_are_not_made_ready_for_calls_over_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[str] = []
    start = starting.Functions.__init__

    def watched(self: Any, function: Any, *rest: Any) -> None:
        found.append(function.why)
        start(self, function, *rest)

    monkeypatch.setattr(starting.Functions, "__init__", watched)
    ds = auto(busy, 100)
    for _ in range(2):
        assert run(ds)[0] == list(range(100))
    assert len(found) == 2 and found[0] and found[0] == found[1]


def test_given_results_that_differ_then_the_first_one_decides_in_a_second_run_too() -> None:
    def differ(x: Any) -> Any:
        if x == 0:
            time.sleep(0.2)  # others would be done before
        return busy(x) if x == 0 else (busy(x), 1)

    ds = auto(differ, 40).ignore_errors()
    for _ in range(3):
        got, report = run(ds)
        assert got == [0]
    assert "called in worker processes" in report


def test_given_a_function_that_lets_go_of_the_lock_then_threads_call_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(taken, "Probe", Light)
    got, report = run(auto(packs))
    assert got == list(range(60))
    assert "lock (the GIL) for 2% of that" in report


def test_given_a_function_that_waits_then_threads_call_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taken, "Probe", Light)

    def waits(x: Any) -> int:
        time.sleep(0.004)
        return int(x)

    got, report = run(auto(waits))
    assert got == list(range(60))
    assert "called in threads" in report


def test_given_a_function_of_numpy_then_it_is_called_over_the_block_and_nothing_is_measured() -> None:
    with auto(lambda x: x * 2, 5000).iterate() as it:
        assert [int(x) for x in it] == list(range(0, 10_000, 2))
        assert not [note for op in it.report().ops for note in op.notes if "called in" in note]


def test_given_one_core_then_there_are_no_worker_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "usable_cores", lambda: 1)
    got, report = run(ps.Dataset.range(20).map(busy, num_parallel_calls=4))
    assert got == list(range(20))
    assert "worker processes" not in report


def test_given_little_to_do_then_there_are_no_worker_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worth, "LEAST", 1e9)
    monkeypatch.setattr(worth, "NEAR", 1e9)
    _, report = run(auto(busy, 20))
    assert "worker processes" not in report


@pytest.mark.parametrize(
    ("there", "left", "before", "pays"),
    [
        (False, 30, 0, True),
        (False, 10, 0, False),  # a worker would come too late
        (False, 10, 100, True),  # for this run, and in time for the next
        (False, 1, 100, False),
        (True, 10, 0, True),
        (True, 1, 0, False),
        (False, -1, 0, True),  # nobody knows how many
    ],
)
def test_worker_processes_pay_for_as_much_as_is_left(
    there: bool, left: int, before: int, pays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worth, "LEAST", 0.3)
    monkeypatch.setattr(worth, "server_is_there", lambda: there)
    assert worth.enough_left(left, before, each=0.015) is pays


def test_given_short_runs_one_after_another_then_a_later_one_goes_to_worker_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worth, "LEAST", 2.0)
    monkeypatch.setattr(worth, "server_is_there", lambda: False)
    monkeypatch.setattr(taken, "thread_time", time.perf_counter)
    monkeypatch.setattr(taken.Taken, "each", 0.01)  # whatever else the cores have to do
    ds = auto(lambda x: time.sleep(0.01) or int(x), 110)
    said = [run(ds)[1] for _ in range(3)]
    assert "worker processes" not in said[0]
    assert "worker processes" in said[2]


def test_given_a_side_effect_then_it_stays_here() -> None:
    seen: list[int] = []

    def remembers(x: Any) -> int:
        seen.append(int(x))
        return busy(x)

    got, report = run(auto(remembers, 60))
    assert got == list(range(60))
    assert sorted(seen) == got
    assert "called in threads" in report and "it calls seen.append()" in report


def test_given_a_function_that_cannot_be_pickled_then_threads_call_it_and_the_report_says_why() -> None:
    lock = threading.Lock()

    def locked(x: Any) -> int:
        return busy(x) if lock else 0

    ds = auto(locked, 40)
    got, report = run(ds)
    assert got == list(range(40))
    assert "called in threads: worker processes cannot be used" in report and "pickle" in report
    assert "in threads, as measured in an earlier run: worker processes cannot be used" in ds.explain()


@pytest.mark.parametrize("where", ["write", "fork"])
def test_given_descriptors_that_run_out_then_threads_go_on_and_no_element_is_lost(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EMFILE, "too many open files")

    ds = auto(busy, 100)
    with monkeypatch.context() as patch:
        patch.setattr(*((Packing, where) if where == "write" else (Server, where)), no_more)
        got, report = run(ds)
        assert got == list(range(100))
        assert "called in threads: worker processes c" in report and "too many open files" in report
        assert "as measured in an earlier run" not in ds.explain()
    assert "worker processes: it computes" in run(ds)[1], "there is room again"


def test_given_descriptors_that_run_out_when_a_worker_is_lost_then_threads_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = os.getpid()

    def dies(x: Any) -> int:
        if os.getpid() != here and int(x) == 100:
            os._exit(3)
        return busy(x)

    def no_more(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EMFILE, "too many open files")

    with auto(dies, 200).iterate() as it:
        got = [int(next(it))]
        while not (links := list(serving.links)):
            got.append(int(next(it)))
        assert links
        monkeypatch.setattr(Server, "fork", no_more)
        got += map(int, it)
        report = str(it.report())
    assert got == list(range(200))
    assert "too many open files" in report


def test_given_a_side_effect_and_worker_processes_that_were_asked_for_then_the_report_says_what_is_lost() -> (
    None
):
    ds = ps.Dataset.range(6)
    assert run(ds.map(counts, executor="processes"))[0] == list(range(6))
    assert not counted
    said = "it sets the global counted: each worker process has its own"
    assert run(ds.map(counts, executor="processes"))[1].count(said) == 1
    assert "its own" not in run(ds.map(busy, executor="processes"))[1]


def test_given_elements_that_fail_then_there_are_no_more_workers_than_were_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(x: Any) -> int:
        if int(x) > 100 and int(x) % 7 == 0:
            raise ValueError
        return busy(0) + os.getpid()

    for ds in (
        ps.Dataset.range(300).map(fails, num_parallel_calls=2),
        ps.Dataset.range(300).map(fails, num_parallel_calls=2, executor="processes"),
    ):
        pids = set(run(ds.ignore_errors())[0])
        assert pids - {os.getpid()} and len(pids - {os.getpid()}) <= 2


@pytest.mark.parametrize(
    ("owner", "name", "said"),
    [(serving, "server", "cannot"), (Functions, "start", "could not")],
    ids=["a server", "workers"],
)
def test_given_what_cannot_start_then_threads_call_it(
    owner: Any, name: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise ps.errors.PenstockError("no more processes")

    monkeypatch.setattr(owner, name, refuse)
    got, report = run(auto(busy, 60))
    assert got == list(range(60))
    assert f"called in threads: worker processes {said} be used: no more processes" in report


counted = 0


def counts(x: Any) -> Any:
    global counted
    counted += 1
    return x


def test_given_another_word_then_it_is_refused_when_declared() -> None:
    with pytest.raises(ps.errors.ArgumentError, match=r"map\(executor=\) at .*test_executor.*'fibers'"):
        ps.Dataset.range(3).map(busy, executor="fibers")
    with pytest.raises(ps.errors.ArgumentTypeError, match=r"expected one of 'auto', .*got 3"):
        ps.Dataset.range(3).map(busy, executor=3)  # type: ignore[arg-type]


def test_given_block_and_a_function_that_needs_plain_calls_then_the_error_says_why() -> None:
    assert [int(x) for x in ps.Dataset.range(3).map(lambda x: x + 1, executor="block")] == [1, 2, 3]
    with pytest.raises(ps.errors.ArgumentError, match=r"test_executor\.py.*executor='block'.*int\(\)"):
        list(ps.Dataset.range(3).map(busy, executor="block"))


def test_explain_says_how_calls_are_made() -> None:
    ds = ps.Dataset.range(3)
    assert "as measured while it runs" in ds.map(busy, num_parallel_calls=2).explain()
    assert "called over whole blocks" in ds.map(lambda x: x + 1, num_parallel_calls=2).explain()
    assert (
        "called row by row, in worker processes, as asked for" in ds.map(busy, executor="processes").explain()
    )
    assert "executor='threads'" in ds.map(busy, executor="threads").explain()


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_given_deterministic_false_then_all_come_and_the_slow_do_not_hold_up_the_others(
    executor: str,
) -> None:
    def slow_at_first(x: Any) -> int:
        time.sleep(1.0 if int(x) == 8 else 0.001)
        return int(x)

    ds = ps.Dataset.range(80).map(slow_at_first, num_parallel_calls=3, deterministic=False, executor=executor)
    got = [int(x) for x in ds.with_options(ps.Options(block_rows=4))]
    assert sorted(got) == list(range(80))
    assert got.index(8) > got.index(12)  # those of the next block did not wait for it


def test_then_maps_that_are_made_one_keep_the_executor_that_was_asked_for() -> None:
    ds = ps.Dataset.range(30).map(lambda x: x + 1).map(lambda x: x * 2, executor="processes")
    with ds.iterate() as it:
        assert [int(x) for x in it] == list(range(2, 62, 2))
        workers = it._run.root._running._roster.executor._workers  # type: ignore[attr-defined]
        assert workers is not None
