"""The seam that works on several blocks of a map at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, drain, same
from penstock.engine import side_by_side


def scaled(x: Any) -> Any:
    return x.astype(np.float32) / 255


def flipped(x: Any) -> Any:
    return ps.image.random_flip_left_right(x) * 2


def looked_up(x: Any) -> Any:
    return np.arange(40)[x]


@pytest.fixture(autouse=True)
def three_threads_for_every_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "SMALL", 0)
    monkeypatch.setattr(side_by_side.os, "sched_getaffinity", lambda _: {0, 1, 2})


def images() -> ps.Dataset:
    rng = np.random.default_rng(3)
    return ps.Dataset.from_tensor_slices(rng.integers(0, 255, (100, 6, 6), np.uint8))


class TestSideBySide(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "asked for": lambda: images().map(scaled, num_parallel_calls=ps.AUTOTUNE),
            "before a prefetch": lambda: images().map(scaled).batch(7).prefetch(2),
            "shuffled and drawn": lambda: (
                images().map(flipped, num_parallel_calls=2).shuffle(20, seed=1).batch(4).prefetch(1)
            ),
            "errors": lambda: ps.Dataset.range(60).map(looked_up, num_parallel_calls=3).ignore_errors(),
        }


def test_given_threads_then_the_stream_is_that_of_one() -> None:
    plain = images().map(flipped).shuffle(30, seed=2)
    threaded = images().map(flipped, num_parallel_calls=ps.AUTOTUNE).shuffle(30, seed=2)
    assert same(drain(plain), drain(threaded))


def test_given_a_function_without_side_effects_then_threads_do_the_work() -> None:
    seen = set()

    with images().map(scaled, num_parallel_calls=ps.AUTOTUNE).iterate() as it:
        for _ in it:
            seen |= {thread.name.rpartition("_")[0] for thread in threading.enumerate()}
    assert "penstock-map" in seen
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("penstock-")]


def test_given_a_function_with_side_effects_then_it_is_called_in_order_in_one_thread() -> None:
    calls: list[tuple[int, str]] = []

    def counted(x: Any) -> Any:
        calls.append((int(x), threading.current_thread().name))
        return x

    list(ps.Dataset.range(50).map(counted, num_parallel_calls=ps.AUTOTUNE))
    assert [number for number, _ in calls] == list(range(50))
    assert {name for _, name in calls} == {"MainThread"}


def test_when_nobody_asked_to_read_ahead_then_nothing_is_read_ahead() -> None:
    made: list[int] = []

    def generate() -> Iterator[int]:
        for i in range(1000):
            made.append(i)
            yield i

    assert [int(x) for x in ps.Dataset.from_generator(generate).map(lambda x: x * 2).take(3)] == [0, 2, 4]
    assert made == [0, 1, 2]


def test_given_a_failing_row_then_the_rows_round_it_come_in_order() -> None:
    it = iter(ps.Dataset.range(50).map(looked_up, num_parallel_calls=3))
    got: list[Any] = []
    while True:
        try:
            got.append(int(next(it)))
        except StopIteration:
            break
        except ps.errors.FunctionError as error:
            got.append(f"failed {error.number}")
    assert got == [*range(40), *[f"failed {i}" for i in range(40, 50)]]


def test_given_an_error_above_then_it_stays_in_its_place() -> None:
    def fails(x: Any) -> Any:
        if x == 20:
            raise ValueError("twenty")
        return x

    it = iter(ps.Dataset.range(30).map(fails).map(lambda x: x * 2, num_parallel_calls=3))
    assert [int(next(it)) for _ in range(20)] == [2 * i for i in range(20)]
    with pytest.raises(ps.errors.FunctionError, match="element 20"):
        next(it)
    assert [int(x) for x in it] == [2 * i for i in range(21, 30)]
