"""A user's function that wants to end the program: on the main thread it does, else its element fails."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.engine import roster
from penstock.functions import row_function


def leaves_at_five(x: Any) -> Any:
    if int(x) == 5:
        sys.exit("enough")
    return x


def always(x: Any) -> Any:
    raise SystemExit


def numbers() -> Iterator[int]:
    yield 1
    sys.exit()


def got_before(ds: ps.Dataset) -> tuple[list[int], ps.errors.FunctionError]:
    """What came before the error, and the error, on a thread that is not the main one."""
    got: list[int] = []

    def read() -> ps.errors.FunctionError:
        with pytest.raises(ps.errors.FunctionError) as caught, ds.iterate() as it:
            for x in it:
                got.append(int(x))  # noqa: PERF401  (what came before an error is wanted too)
        return caught.value

    with ThreadPoolExecutor(1) as threads:
        return got, threads.submit(read).result()


@pytest.mark.parametrize("how", [{}, {"num_parallel_calls": 2}, {"num_parallel_calls": ps.AUTOTUNE}])
@pytest.mark.parametrize("executor", ["auto", "threads", "processes"])
def test_when_a_function_exits_then_its_element_fails_with_the_op_and_the_line(
    executor: str, how: dict[str, int]
) -> None:
    ds = ps.Dataset.range(20).map(leaves_at_five, executor=executor, **how)  # type: ignore[arg-type]
    got, error = got_before(ds.prefetch(2))
    assert got == [0, 1, 2, 3, 4]
    assert (error.op, error.number, type(error.__cause__)) == ("map", 5, SystemExit)
    said = str(error)
    assert "test_exit.py" in said and "SystemExit: enough" in said and "in leaves_at_five" in said
    assert "leave the loop" in said


@pytest.mark.parametrize("executor", ["auto", "threads"])
def test_when_it_exits_on_the_main_thread_then_the_program_ends_whatever_is_ignored(
    monkeypatch: pytest.MonkeyPatch, executor: str
) -> None:
    monkeypatch.setattr(roster, "WORTH", 60.0)  # however slow the machine is, no other thread is worth it
    ds = ps.Dataset.range(20).map(leaves_at_five, executor=executor).ignore_errors()
    with pytest.raises(SystemExit, match="enough"), ds.iterate() as it:
        list(it)


def test_when_a_signal_comes_in_a_call_then_what_its_handler_raises_ends_the_program() -> None:
    def told_to_end(x: Any) -> Any:
        if int(x) == 5:
            signal.raise_signal(signal.SIGTERM)
        return x

    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
    try:
        with pytest.raises(SystemExit) as caught:
            list(ps.Dataset.range(20).map(told_to_end).ignore_errors())
    finally:
        signal.signal(signal.SIGTERM, before)
    assert caught.value.code == 3


def test_when_a_signal_comes_in_a_call_over_a_block_then_the_program_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ds = ps.Dataset.from_tensor_slices(np.zeros(64)).map(lambda x: x + 1)
    assert len(list(ds)) == 64

    def told_to_end(*_: Any, **__: Any) -> Any:
        sys.exit(3)

    monkeypatch.setattr(row_function, "call_over_block", told_to_end)
    with pytest.raises(SystemExit):
        list(ds)


def test_when_a_generator_exits_then_that_is_its_end_and_an_error() -> None:
    ds = ps.Dataset.from_generator(numbers)
    got, error = got_before(ds.prefetch(1))
    assert (got, error.op) == ([1], "from_generator")
    assert "in numbers" in str(error)
    with pytest.raises(SystemExit):
        list(ds)


@pytest.mark.parametrize(
    "declare",
    [
        lambda ds: ds.filter(always),
        lambda ds: ds.flat_map(always),
        lambda ds: ds.interleave(always, num_parallel_calls=2),
        lambda ds: ds.scan(0, lambda s, x: sys.exit()),
        lambda ds: ds.group_by_window(always, lambda key, group: group, 2),
    ],
)
def test_given_any_function_then_its_exit_is_an_error(declare: Callable[[ps.Dataset], ps.Dataset]) -> None:
    got, error = got_before(declare(ps.Dataset.range(3)).prefetch(1))
    assert got == []
    assert "SystemExit" in str(error) and "test_exit.py" in str(error)


def test_given_ignore_errors_then_the_report_says_that_a_function_wanted_to_exit() -> None:
    def read() -> str:
        with ps.Dataset.range(8).map(leaves_at_five).ignore_errors().prefetch(2).iterate() as it:
            assert [int(x) for x in it] == [0, 1, 2, 3, 4, 6, 7]
            return str(it.report())

    with ThreadPoolExecutor(1) as threads:
        assert "SystemExit: enough" in threads.submit(read).result()
