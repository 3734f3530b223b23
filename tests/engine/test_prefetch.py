"""The seam of `prefetch`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract


class TestPrefetch(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        words = [b"one", b"", b"three"]
        return {
            "elements": lambda: ps.Dataset.range(50).prefetch(3),
            "bytes": lambda: ps.Dataset.range(50).batch(7).prefetch("1KiB"),
            "autotune": lambda: ps.Dataset.range(50).batch(2).prefetch(ps.AUTOTUNE),
            "twice": lambda: ps.Dataset.range(50).prefetch(1).batch(3).prefetch(2),
            "words": lambda: ps.Dataset.from_tensor_slices(words).prefetch(2),
            "empty": lambda: ps.Dataset.range(0).prefetch(2),
        }


def gated(count: int) -> tuple[list[int], Callable[[], Iterator[int]]]:
    made: list[int] = []

    def generate() -> Iterator[int]:
        for i in range(count):
            made.append(i)
            yield i

    return made, generate


def test_given_a_size_in_elements_then_no_more_is_made_when_so_many_are_ready() -> None:
    made, generate = gated(1000)
    ds = ps.Dataset.from_generator(generate).prefetch(5).with_options(ps.Options(block_rows=2))
    with ds.iterate() as it:
        next(it)
        settle(it)
        # The user has a block of two, and a block is made while fewer than five rows are ready.
        assert len(made) <= 2 + 4 + 2


def test_given_a_size_in_bytes_then_what_is_ready_takes_no_more() -> None:
    made: list[int] = []

    def generate() -> Iterator[Any]:
        for i in range(64):
            made.append(i)
            yield np.zeros(1 << 16, np.uint8)

    with ps.Dataset.from_generator(generate).prefetch("256KiB").iterate(memory="64MiB") as it:
        next(it)
        settle(it)
        assert it.report().ops[-1].held <= (256 << 10) + it._run.plan.block_bytes
        assert len(made) < 40


def settle(it: Any) -> None:
    """Wait until the prefetch thread waits for room, without sleeping."""
    seam = it._run.root._running
    with seam._changed:
        assert seam._changed.wait_for(lambda: seam._over or not seam._has_room(), timeout=10)


def test_given_elements_that_grow_then_the_queue_shrinks_to_stay_in_the_budget() -> None:
    def generate() -> Iterator[Any]:
        for i in range(40):
            yield np.zeros(1 << (10 + i // 4), np.uint8)

    budget = 4 << 20
    with ps.Dataset.from_generator(generate).prefetch(30).iterate(memory=budget) as it:
        sizes = [len(x) for x in it]
        assert it._run.ledger.peak <= budget
    assert sizes == [1 << (10 + i // 4) for i in range(40)]


def test_given_somebody_who_is_busy_then_the_work_is_done_in_another_thread() -> None:
    seen: list[str] = []

    def look(x: Any) -> Any:
        seen.append(threading.current_thread().name)
        return x

    ds = ps.Dataset.range(20).map(look).prefetch(1).with_options(ps.Options(block_rows=1))
    with ds.iterate() as it:
        for _ in it:
            settle(it)  # busy until the next one is there
    assert set(seen) == {"penstock-prefetch"}


def test_given_somebody_who_is_back_at_once_then_it_does_the_work_itself() -> None:
    seen: list[str] = []
    long = threading.Event()

    def look(x: Any) -> Any:
        seen.append(threading.current_thread().name)
        long.wait(0.02)  # far longer than coming back takes
        return x

    list(ps.Dataset.range(30).map(look).prefetch(1).with_options(ps.Options(block_rows=1)))
    assert seen[0] == "penstock-prefetch"
    assert seen.count(threading.current_thread().name) >= 20


@pytest.mark.parametrize("size", [-2, "much", "0MiB", 1.5, True])
def test_given_a_wrong_size_then_declaring_fails_and_names_the_line(size: Any) -> None:
    with pytest.raises((ps.errors.ArgumentError, ps.errors.ArgumentTypeError)) as caught:
        ps.Dataset.range(3).prefetch(size)
    assert "test_prefetch.py:" in str(caught.value)
    assert "buffer_size" in str(caught.value)


def two_mebibytes(count: int = 12) -> ps.Dataset:
    made = ps.Dataset.from_generator(lambda: (np.full(2 << 20, i, np.uint8) for i in range(count)))
    return made.prefetch(10)


@pytest.mark.parametrize("nested", [False, True])
def test_given_many_that_read_ahead_then_they_share_the_budget(nested: bool) -> None:
    budget = 48 << 20
    if nested:
        ds = ps.Dataset.range(12).interleave(lambda _: two_mebibytes(), cycle_length=12)
    else:
        ds = ps.Dataset.zip(tuple(two_mebibytes() for _ in range(6)))
    with ds.iterate(memory=budget) as it:
        assert sum(1 for _ in it) == (144 if nested else 12)
        assert it._run.ledger.peak <= budget
        assert it._run.ledger.claimed == 0
