"""A run is taken apart once, and never under the feet of somebody who is inside it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from time import monotonic, sleep
from types import BuiltinMethodType
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.engine import aside, roster
from penstock.engine import endings as endings_module
from penstock.engine.endings import endings, inside
from penstock.engine.run import Run
from penstock.memory.ledger import Ledger
from penstock.memory.rowlog import RowLog


def big_rows(count: int = 1 << 30) -> ps.Dataset:
    return ps.Dataset.from_generator(lambda: (np.full(5000, i, np.float64) for i in range(count)))


def strings() -> ps.Dataset:
    return ps.Dataset.from_generator(lambda: ("x" * (i % 700) for i in range(1 << 30)))


PIPELINES: dict[str, Callable[[], ps.Dataset]] = {
    "shuffle": lambda: big_rows().shuffle(3000),
    "strings": lambda: strings().shuffle(2000),
    "cache": lambda: big_rows().cache(),
    "cache, prefetch": lambda: big_rows().cache().shuffle(100).prefetch(3),
    "groups": lambda: big_rows().group_by_window(lambda x: int(x[0]) % 3, lambda _, w: w.batch(4), 8),
}


def wait_for(what: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = monotonic() + seconds
    while not what():
        assert monotonic() < deadline
        sleep(0.002)


def is_gone(run: Run) -> bool:
    run.ledger.settle()
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("penstock")]
    return run._ends.made and run.ledger.held == 0 and not threads


def drop_in_a_cycle(it: Any) -> None:
    ring: list[Any] = [it]
    ring.append(ring)


class Consumer(threading.Thread):
    """Takes elements until something is raised."""

    def __init__(self, it: Any) -> None:
        super().__init__(daemon=True)
        self._it = it
        self.taken: list[Any] = []
        self.raised: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            for element in self._it:
                self.taken.append(element if np.ndim(element) == 0 else None)
        except BaseException as error:
            self.raised = error

    def ended(self) -> BaseException | None:
        self.join(10)
        assert not self.is_alive()
        return self.raised


@pytest.mark.parametrize("name", PIPELINES)
def test_when_closed_at_any_moment_by_another_thread_then_the_consumer_learns_it_and_nothing_is_left(
    name: str,
) -> None:
    for k in range(6):
        it = PIPELINES[name]().iterate(memory="4MiB")
        consumer = Consumer(it)
        wait_for(lambda: len(consumer.taken) > 20 * k)
        it.close()
        assert isinstance(consumer.ended(), ps.errors.ClosedError)
        wait_for(lambda: is_gone(it._run))


def test_given_a_function_at_work_in_one_thread_when_another_closes_then_it_is_taken_apart_after_it() -> None:
    entered, release = threading.Event(), threading.Event()

    def waits(x: Any) -> Any:
        if x[0] == 400:
            entered.set()
            release.wait()
        return x

    it = big_rows().shuffle(300).map(waits).iterate(memory="4MiB")
    it._run.scratch()
    consumer = Consumer(it)
    assert entered.wait(30)
    it.close()
    it.close()
    assert not it._run._ends.made
    assert not it._run._scratch._file.closed
    release.set()
    assert isinstance(consumer.ended(), ps.errors.ClosedError)
    assert it._run._scratch._file.closed
    assert is_gone(it._run)


@pytest.mark.parametrize("ahead", [False, True])
def test_when_a_function_closes_its_own_run_then_the_run_ends_as_soon_as_it_returns(
    ahead: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "GRACE", 60)
    apart: list[bool] = []

    def closes(x: Any) -> Any:
        if x == 50:
            it.close()
            apart.append(it._run._ends.made)
        return x

    ds = ps.Dataset.range(1 << 30).map(closes).shuffle(30)
    it = (ds.prefetch(2) if ahead else ds).iterate()
    began = monotonic()
    with pytest.raises(ps.errors.ClosedError):
        for _ in it:
            pass
    assert monotonic() - began < 60, "nobody waits for a thread that waits for it"
    assert ahead or apart == [False]
    wait_for(lambda: is_gone(it._run))


def test_when_a_function_asks_its_own_run_for_an_element_then_the_error_says_so() -> None:
    def asks(x: Any) -> Any:
        return x if x < 3 else next(it)

    it = ps.Dataset.range(10).map(asks).iterate()
    assert [int(next(it)) for _ in range(3)] == [0, 1, 2]
    for _ in range(3, 10):  # each element in its place: the run has not ended
        with pytest.raises(ps.errors.FunctionError) as caught:
            next(it)
        assert "just calling" in str(caught.value.__cause__)
    assert list(it) == []


@pytest.mark.parametrize("pair", [False, True])
def test_when_threads_share_an_iterator_then_each_element_goes_to_one_of_them(pair: bool) -> None:
    def generate() -> Iterator[Any]:
        for i in range(8000):
            yield (i, str(i)) if pair else i

    taken: list[Any] = []

    def take() -> None:
        for element in it:
            number, text = element if pair else (element, element)
            taken.append((int(number), int(text)))

    options = ps.Options(block_rows=2)
    it = ps.Dataset.from_generator(generate).with_options(options).iterate()
    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(taken) == [(i, i) for i in range(8000)]


def test_given_a_log_at_work_when_the_collector_ends_the_run_it_is_of_then_nobody_waits_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def collects(log: RowLog, *arguments: Any) -> Any:
        gc.collect()
        return rows_of(log, *arguments)

    rows_of = RowLog._rows_of
    window = ps.Dataset.range(100).map(lambda i: np.full(5000, i)).window(50)
    it = window.with_options(ps.Options(block_rows=1)).iterate()
    run = it._run
    consumer_of = iter(next(it))
    next(consumer_of)
    monkeypatch.setattr(RowLog, "_rows_of", collects)
    drop_in_a_cycle(it)
    del it
    consumer = Consumer(consumer_of)
    raised = consumer.ended()
    assert raised is None or isinstance(raised, ps.errors.ClosedError)
    wait_for(lambda: run._ends.made, 1.0)


def test_given_another_run_at_work_when_an_iterator_is_collected_then_its_end_is_made_elsewhere() -> None:
    ended_by: list[str] = []

    class Watched(Run):
        def _take_apart(self, patience: float = 0.0) -> None:
            ended_by.append(threading.current_thread().name)
            super()._take_apart(patience)

    ds = ps.Dataset.range(1 << 30).cache()
    first = ds.iterate()
    first._run.__class__ = Watched
    run = first._run
    next(first)
    drop_in_a_cycle(first)
    del first

    def collects(x: Any) -> Any:
        gc.collect()
        return x

    assert int(next(iter(ds.map(collects)))) == 0
    wait_for(lambda: is_gone(run), 1.0)
    assert ended_by == ["penstock-endings"]


def test_given_no_thread_to_be_had_when_an_iterator_is_dropped_then_who_leaves_next_ends_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuses(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    wait_for(lambda: not endings.has_helper())  # of a test before
    it = ps.Dataset.range(10).iterate()
    run = it._run
    next(it)
    with inside():
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuses)
            del it
        assert not run._ends.made
    assert list(ps.Dataset.range(1)) == [0]
    assert run._ends.made
    assert not endings.waiting


@pytest.mark.parametrize(
    "declared",
    [
        lambda ds: ds.prefetch(2),
        lambda ds: ds.map(int, executor="threads", num_parallel_calls=3),
        lambda ds: ds.interleave(lambda x: ps.Dataset.range(3), num_parallel_calls=2),
    ],
    ids=["prefetch", "map", "interleave"],
)
def test_given_no_thread_to_be_had_then_the_error_says_what_to_do_and_nothing_is_left(
    declared: Callable[[ps.Dataset], ps.Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(roster, "WORTH", 0.0)
    it = declared(ps.Dataset.range(1 << 20)).iterate()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuses)
        with pytest.raises(ps.errors.PenstockError, match=r"penstock-.*expected one more thread.*ulimit -u"):
            for _ in it:
                pass
    assert is_gone(it._run)


@pytest.mark.parametrize(
    "declared",
    [lambda ds, f: ds.map(f, executor="threads", num_parallel_calls=2), lambda ds, f: ds.map(f).prefetch(2)],
    ids=["map", "prefetch"],
)
def test_when_a_function_asks_its_own_iteration_on_any_thread_then_it_fails_and_nobody_waits(
    declared: Callable[[ps.Dataset, Callable[[Any], Any]], ps.Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_on: set[str] = set()

    def asks(x: Any) -> Any:
        if x >= 50 and threading.current_thread() is not threading.main_thread():
            asked_on.add(threading.current_thread().name)
            return next(it)
        time_off.wait(0.001)
        return x

    monkeypatch.setattr(roster, "WORTH", 0.0)
    time_off = threading.Event()
    it = declared(ps.Dataset.range(1 << 20), asks).iterate()
    failed: list[str] = []

    def consume() -> None:
        while not failed:
            try:
                next(it)
            except ps.errors.FunctionError as error:
                failed.append(str(error))

    consumer = threading.Thread(target=consume, daemon=True)
    consumer.start()
    consumer.join(30)
    it.close()
    assert asked_on
    assert "by a function that it is just calling" in failed[0]


def test_given_ctrl_c_while_a_dropped_iterator_is_closed_then_it_is_closed_and_comes_once_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    came: list[str] = []
    current_thread = threading.current_thread
    interrupted: list[bool] = []
    wait_for(lambda: not endings.has_helper())
    monkeypatch.setattr(endings_module, "interrupt_main", lambda: came.append(current_thread().name))
    it = ps.Dataset.range(10).shuffle(4).iterate()
    run = it._run
    next(it)
    close = run.root.close

    def interrupt_once() -> None:
        if not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt
        close()

    run._ends._left[-1] = interrupt_once
    del it
    wait_for(lambda: bool(came))
    assert (interrupted, run._ends.made, run.ledger.held) == ([True], True, 0)
    assert came == ["penstock-endings"]


def test_given_a_buffer_that_dies_then_what_notes_it_is_no_python_code() -> None:
    ledger = Ledger(1 << 20)
    array = np.zeros(4)
    noted = ledger._ref(array)
    assert isinstance(noted.__callback__, BuiltinMethodType)  # a Ctrl-C in Python code would be lost there
