"""Whatever way a run ends, nothing of it is left."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from time import monotonic
from typing import Any

import numpy as np
import pytest

import penstock as ps


def own_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("penstock")]


def wait_until_gone(seconds: float = 5.0) -> None:
    """Wait for every thread of a run to end, by joining it."""
    deadline = monotonic() + seconds
    for thread in threading.enumerate():
        if thread.name.startswith("penstock"):
            thread.join(max(0.0, deadline - monotonic()))
    assert own_threads() == []


def closed_while_waiting(it: Any) -> None:
    with pytest.raises(ps.errors.ClosedError, match="while it waited"):
        next(it)


def endless() -> ps.Dataset:
    return ps.Dataset.range(1 << 60).map(lambda x: x + 1).batch(4).prefetch(2)


def test_given_a_waiting_prefetch_thread_when_closed_then_it_is_gone() -> None:
    it = endless().iterate()
    next(it)
    assert own_threads() == ["penstock-prefetch"]
    it.close()
    assert own_threads() == []


def test_when_the_consumer_breaks_out_after_one_element_then_nothing_is_left() -> None:
    for _ in endless():
        break
    assert own_threads() == []


def test_when_the_with_statement_is_left_by_an_error_then_nothing_is_left() -> None:
    with pytest.raises(KeyError), endless().iterate() as it:
        next(it)
        raise KeyError("the user's own")
    assert own_threads() == []


def test_when_a_function_raises_and_its_error_is_kept_then_nothing_else_is_left() -> None:
    def fails(x: Any) -> Any:
        raise ValueError(f"no {x}")

    kept = None
    try:
        for _ in ps.Dataset.range(10).map(fails).prefetch(1):
            pass
    except ps.errors.FunctionError as error:
        kept = error
    assert kept is not None
    assert own_threads() == []


def test_when_the_iterator_is_dropped_then_nothing_is_left() -> None:
    it = endless().iterate()
    next(it)
    del it
    assert own_threads() == []


def test_when_the_iterator_is_dropped_in_a_cycle_then_collecting_ends_the_run() -> None:
    it = endless().iterate()
    next(it)
    ring: list[Any] = [it]
    ring.append(ring)
    del it, ring
    gc.collect()
    assert own_threads() == []


def test_when_exhausted_then_nothing_is_left_though_the_iterator_is_kept() -> None:
    it = iter(ps.Dataset.range(10).prefetch(2))
    assert [int(x) for x in it] == list(range(10))
    assert own_threads() == []
    with pytest.raises(StopIteration):
        next(it)


def test_given_a_user_function_that_loops_for_ever_when_closed_then_its_thread_ends() -> None:
    entered = threading.Event()

    def spins(x: Any) -> Any:
        entered.set()
        while True:
            pass

    it = ps.Dataset.range(10).map(spins).prefetch(1).iterate()
    consumer = threading.Thread(target=closed_while_waiting, args=(it,))
    consumer.start()
    assert entered.wait(10)
    it.close()
    consumer.join(10)
    assert not consumer.is_alive()
    wait_until_gone()


def test_given_a_function_stuck_outside_python_when_closed_then_close_returns_and_it_ends_later() -> None:
    entered, release = threading.Event(), threading.Event()

    def blocks(x: Any) -> Any:
        entered.set()
        release.wait()
        return x

    it = ps.Dataset.range(10).map(blocks).prefetch(1).iterate()
    consumer = threading.Thread(target=closed_while_waiting, args=(it,))
    consumer.start()
    assert entered.wait(10)
    it.close()
    consumer.join(10)
    assert not consumer.is_alive()
    release.set()
    wait_until_gone()


def test_when_closed_twice_or_from_another_thread_then_it_is_closed() -> None:
    it = endless().iterate()
    next(it)
    closer = threading.Thread(target=it.close)
    closer.start()
    closer.join(10)
    it.close()
    assert own_threads() == []


def test_when_used_after_close_then_the_error_says_what_to_do() -> None:
    it = endless().iterate()
    it.close()
    with pytest.raises(ps.errors.ClosedError, match=r"ds\.iterate\(\)"):
        next(it)


def test_given_an_error_when_the_user_goes_on_then_the_rest_comes() -> None:
    def odd_fails(x: Any) -> Any:
        if x % 2:
            raise ValueError("odd")
        return x

    it = iter(ps.Dataset.range(6).map(odd_fails).prefetch(3))
    got: list[Any] = []
    while True:
        try:
            got.append(int(next(it)))
        except StopIteration:
            break
        except ps.errors.FunctionError as error:
            got.append(f"failed {error.number}")
    assert got == [0, "failed 1", 2, "failed 3", 4, "failed 5"]


def test_given_a_broken_source_when_it_fails_then_the_run_is_over() -> None:
    def interrupted() -> Iterator[int]:
        yield 1
        raise KeyboardInterrupt

    it = ps.Dataset.from_generator(interrupted).prefetch(1).iterate()
    with pytest.raises(KeyboardInterrupt):
        list(it)
    assert own_threads() == []
    with pytest.raises(StopIteration):
        next(it)


@pytest.mark.parametrize(
    "ending",
    ["", "it.close()", "raise SystemExit(3)", "del it", "ring = [it]; ring.append(ring); del it, ring"],
)
def test_when_the_interpreter_exits_then_it_does_not_hang(ending: str) -> None:
    script = f"""
        import penstock as ps
        it = ps.Dataset.range(1 << 60).batch(2).prefetch(4).iterate()
        next(it)
        {ending}
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == (3 if "SystemExit" in ending else 0)
    assert done.stderr == b""


def test_when_an_element_is_kept_after_close_then_it_is_still_whole() -> None:
    with ps.Dataset.range(1 << 20).map(lambda x: x * 3).batch(1 << 18).iterate() as it:
        kept = next(it)
    assert np.array_equal(kept, np.arange(1 << 18) * 3)


def test_given_take_then_only_so_many_rows_are_asked_of_the_source() -> None:
    made: list[int] = []

    def counted() -> Iterator[int]:
        for i in range(1000):
            made.append(i)
            yield i

    assert [int(x) for x in ps.Dataset.from_generator(counted).take(3)] == [0, 1, 2]
    assert made == [0, 1, 2]


def test_an_iterator_shows_whether_it_is_open() -> None:
    it = ps.Dataset.range(3).batch(2).iterate()
    assert repr(it) == "<Iterator, open, over batch>"
    it.close()
    assert repr(it) == "<Iterator, ended, over batch>"
