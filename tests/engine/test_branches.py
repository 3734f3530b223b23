"""The seam of an interleave that reads several datasets at once."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.memory.account import Account

MIB = 1 << 20


def outcome(ds: ps.Dataset, **how: Any) -> list[Any]:
    """The elements of one pass, with the words of an error in the place of what failed."""
    got: list[Any] = []
    with ds.iterate(seed=3, epoch=0, **how) as it:
        while True:
            try:
                got.append(np.asarray(next(it)).tolist())
            except StopIteration:
                return got
            except ps.errors.ElementError as error:
                got.append(str(error).split(": ", 1)[1])  # without the line of the declaration


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 9), max_size=12),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(2, 6),
    st.sampled_from([None, 1, 3]),
)
def test_given_any_number_of_threads_then_the_stream_is_that_without(
    lengths: list[int], cycle: int, block: int, calls: int, rows: int | None
) -> None:
    def part(n: Any) -> ps.Dataset:
        return ps.Dataset.range(100 * n, 100 * n + lengths[n]).shuffle(3)

    numbers = ps.Dataset.range(len(lengths)).with_options(ps.Options(block_rows=rows))
    one = numbers.interleave(part, cycle, block)
    many = numbers.interleave(part, cycle, block, num_parallel_calls=calls)
    assert outcome(many) == outcome(one)


def failing(n: Any) -> ps.Dataset:
    if n % 5 == 1:
        raise ValueError(f"no {n}")
    return ps.Dataset.range(10 * n, 10 * n + 6).map(check)


def check(x: Any) -> Any:
    if int(x) % 10 == int(x) // 10 % 6:
        raise RuntimeError(f"not {x}")
    return x


def check_number(n: Any) -> Any:
    if n == 7:
        raise KeyError("seven")
    return n


@pytest.mark.parametrize("calls", [2, 3, 8])
def test_when_datasets_and_their_elements_fail_then_the_errors_come_in_the_same_places(calls: int) -> None:
    numbers = ps.Dataset.range(14).map(check_number)
    expected = outcome(numbers.interleave(failing, 3, 2))
    assert sum(isinstance(one, str) for one in expected) > 10
    assert outcome(numbers.interleave(failing, 3, 2, num_parallel_calls=calls)) == expected


def test_when_the_source_of_a_dataset_breaks_then_the_elements_before_it_arrive() -> None:
    def broken(n: Any) -> ps.Dataset:
        def generate() -> Any:
            yield from range(int(n) * 10, int(n) * 10 + 3)
            if n == 2:
                raise OSError("the disk is gone")

        return ps.Dataset.from_generator(generate)

    numbers = ps.Dataset.range(4)
    expected = outcome(numbers.interleave(broken, 2, 1))
    assert any("the disk is gone" in str(one) for one in expected)
    assert outcome(numbers.interleave(broken, 2, 1, num_parallel_calls=2)) == expected


def test_given_something_else_than_a_dataset_then_the_error_says_so() -> None:
    ds = ps.Dataset.range(3).interleave(lambda n: n, num_parallel_calls=2)
    with pytest.raises(ps.errors.ArgumentTypeError, match="returns a dataset"):
        next(iter(ds))


@pytest.mark.parametrize("cycle", [3, 5])
def test_then_so_many_datasets_are_read_at_the_same_time(cycle: int) -> None:
    inside: set[int] = set()
    met = threading.Event()

    def meet(x: Any) -> Any:
        inside.add(threading.get_ident())
        if len(inside) == 3:
            met.set()
        met.wait(20)  # nobody goes on alone
        return x

    def part(n: Any) -> ps.Dataset:
        return ps.Dataset.range(10 * n, 10 * n + 4).map(lambda x: meet(int(x)))

    got = outcome(ps.Dataset.range(6).interleave(part, cycle, num_parallel_calls=3))
    assert met.is_set()
    assert sorted(got) == sorted(10 * n + i for n in range(6) for i in range(4))


def test_then_functions_that_open_datasets_are_called_at_the_same_time_and_ahead() -> None:
    met = threading.Barrier(3, timeout=20)

    def part(n: Any) -> ps.Dataset:
        met.wait()
        return ps.Dataset.from_tensors(int(n)).repeat(2)

    got = outcome(ps.Dataset.range(9).interleave(part, 3, num_parallel_calls=3))
    assert got == [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8, 6, 7, 8]


def waiting_for(gate: threading.Event) -> Any:
    def part(n: Any) -> ps.Dataset:
        def wait(x: Any) -> int:
            if n == 0:
                gate.wait(20)
            return int(x)

        return ps.Dataset.range(100 * n, 100 * n + 50).map(wait)

    return part


def test_given_any_order_when_one_dataset_is_late_then_the_others_come_first() -> None:
    gate = threading.Event()
    ds = ps.Dataset.range(4).interleave(waiting_for(gate), 2, num_parallel_calls=2, deterministic=False)
    got = []
    for x in ds:
        got.append(int(x))
        if len(got) == 150:
            gate.set()
    assert min(got[:150]) == 100
    assert sorted(got) == [100 * n + i for n in range(4) for i in range(50)]


@pytest.mark.parametrize("seed", range(6))
def test_given_any_order_then_every_element_comes_once_and_each_dataset_in_its_own(seed: int) -> None:
    random = np.random.default_rng(seed)
    lengths = random.integers(0, 60, 15)
    cycle, block, calls = (int(x) for x in random.integers(1, 6, 3))

    def part(n: Any) -> ps.Dataset:
        return ps.Dataset.range(1000 * n, 1000 * n + lengths[n])

    ds = ps.Dataset.range(15).interleave(part, cycle, block, calls + 1, deterministic=False)
    got = outcome(ds)
    assert sorted(got) == [1000 * n + i for n in range(15) for i in range(lengths[n])]
    for n in range(15):
        own = [x for x in got if x // 1000 == n]
        assert own == sorted(own)


def test_given_any_order_when_elements_fail_then_each_error_comes_once() -> None:
    numbers = ps.Dataset.range(14).map(check_number)
    expected = outcome(numbers.interleave(failing, 3, 2))
    got = outcome(numbers.interleave(failing, 3, 2, num_parallel_calls=4, deterministic=False))
    assert sorted(map(str, got)) == sorted(map(str, expected))


def large(n: Any) -> ps.Dataset:
    return ps.Dataset.range(12).map(lambda x: np.full(1 << 18, x + n, np.uint8))


@pytest.mark.parametrize("loose", [False, True])
def test_given_many_datasets_of_large_elements_then_the_budget_holds(loose: bool) -> None:
    budget = 12 * MIB
    ds = ps.Dataset.range(24).interleave(large, 16, num_parallel_calls=16, deterministic=not loose)
    with ds.iterate(memory=budget) as it:
        assert sum(1 for _ in it) == 24 * 12
        assert it._run.ledger.peak <= budget
        assert it._run.ledger.claimed == 0


def test_given_no_room_for_all_then_fewer_are_read_ahead_and_the_report_notes_it() -> None:
    budget = 5 * MIB
    ds = ps.Dataset.range(24).interleave(large, 16, num_parallel_calls=16)
    with ds.iterate(memory=budget) as it:
        assert sum(1 for _ in it) == 24 * 12
        assert it._run.ledger.peak <= budget
        notes = [note for op in it.report().ops for note in op.notes]
    assert "reads fewer datasets ahead than it was asked for, to stay in the budget" in notes


def test_when_an_inner_one_is_left_early_then_its_threads_end_with_it() -> None:
    def inner(_: Any) -> ps.Dataset:
        return ps.Dataset.range(100).interleave(ps.Dataset.range, 4, num_parallel_calls=3).take(3)

    before = set(threading.enumerate())
    with ps.Dataset.range(12).flat_map(inner).iterate() as it:
        for _ in range(34):
            next(it)
        assert len(set(threading.enumerate()) - before) <= 3


def made(n: Any) -> ps.Dataset:
    return ps.Dataset.from_tensor_slices(np.full((4, MIB), n % 251, np.uint8))


def test_given_arrays_that_fit_one_after_the_other_then_opening_ahead_does_not_make_them_too_many() -> None:
    ds = ps.Dataset.range(20).interleave(made, 2, num_parallel_calls=8)
    with ds.iterate(memory="16MiB") as it:
        assert [int(x[0]) for x in it][:8] == [0, 1, 0, 1, 0, 1, 0, 1]
        assert it._run.ledger.peak <= 16 * MIB
        notes = [note for op in it.report().ops for note in op.notes]
    assert "opens no dataset ahead, to stay in the budget" in notes
    with (
        ds.iterate(memory="6MiB") as it,
        pytest.raises(ps.errors.BudgetError, match="open fewer datasets at once"),
    ):
        list(it)


def test_given_arrays_then_those_that_nobody_waits_for_take_a_part_of_the_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    most = 0
    hold = Account.hold

    def noted(self: Account, *args: Any) -> int:
        nonlocal most
        size = hold(self, *args)
        most = max(most, self.pinned)
        return size

    monkeypatch.setattr(Account, "hold", noted)
    ds = ps.Dataset.range(30).interleave(made, 3, num_parallel_calls=6)
    with ds.iterate(memory="32MiB") as it:
        assert sum(1 for _ in it) == 120
    assert most <= 20 * MIB, "three that are read, and two that fit in a quarter of the budget"


@pytest.mark.parametrize("calls", [2, 4, 8])
def test_given_arrays_that_are_made_with_the_first_row_then_they_are_not_too_many(calls: int) -> None:
    def inner(n: Any) -> ps.Dataset:
        return ps.Dataset.range(1).flat_map(lambda _: made(n))

    for _ in range(3):
        with (
            ps.Dataset.range(12).interleave(inner, 2, num_parallel_calls=calls).iterate(memory="16MiB") as it
        ):
            assert sum(1 for _ in it) == 48


def test_given_one_that_is_read_ahead_for_long_then_who_is_waited_for_does_not_try_again_and_again() -> None:
    held, calls = threading.Event(), []

    def slow(row: Any) -> Any:
        if int(row[0]) == 1:
            held.set()
            time.sleep(0.3)
        return row[:1]

    def rows(n: int) -> ps.Dataset:
        calls.append(n)
        if n == 0:
            held.wait(20)
        return ps.Dataset.from_tensor_slices(np.full((1, 10 * MIB), n, np.uint8)).map(slow)

    def inner(n: Any) -> ps.Dataset:
        number = int(n)
        return ps.Dataset.range(1).flat_map(lambda _: rows(number))

    with ps.Dataset.range(3).interleave(inner, 1, num_parallel_calls=2).iterate(memory="16MiB") as it:
        assert [int(row[0]) for row in it] == [0, 1, 2]
    assert calls.count(0) <= 2


@pytest.mark.parametrize("how", ["close", "drop"])
def test_when_the_consumer_stops_early_then_no_thread_is_left(how: str) -> None:
    before = set(threading.enumerate())
    it = ps.Dataset.range(1000).interleave(large, 8, num_parallel_calls=4).iterate(memory="32MiB")
    for _ in range(10):
        next(it)
    started = set(threading.enumerate()) - before
    assert 1 <= len(started) <= 4
    if how == "close":
        it.close()
    else:
        del it
    for thread in started:
        thread.join(5)
    assert not any(thread.is_alive() for thread in started)


def test_when_a_dataset_is_stuck_then_closing_does_not_wait_for_it() -> None:
    gate, stuck = threading.Event(), threading.Event()

    def stick(x: Any) -> int:
        if threading.current_thread().name.startswith("penstock-") and x > 2:
            stuck.set()
            while not gate.is_set():
                pass
        return int(x)

    ds = ps.Dataset.range(3).interleave(lambda n: ps.Dataset.range(9).map(stick), 3, num_parallel_calls=3)
    it = ds.iterate()
    next(it)
    assert stuck.wait(10)
    it.close()
    gate.set()
    assert it._run.closed
    it._run.ledger.settle()


def test_given_several_reads_of_files_then_the_stream_is_that_of_files_in_turn(tmp_path: Path) -> None:
    names = []
    for i in range(7):
        names.append(str(tmp_path / f"{i}.txt"))
        Path(names[-1]).write_text("".join(f"{i} {j}\n" for j in range(5 * i)))
    one = outcome(ps.Dataset.from_tensor_slices(names).interleave(ps.TextLineDataset, 3))
    with ps.TextLineDataset(names, num_parallel_reads=3).iterate() as it:
        many = [bytes(line) for line in it]
    assert many == one
    assert len(many) == 5 * sum(range(7))
