"""Workers that are at work before it is known what results look like: the first in the stream decides."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract import streams
from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.structure import LEAF, structure_of
from penstock.engine import roster
from penstock.engine.guesses import agrees
from penstock.engine.processes.calls import Workers
from penstock.engine.processes.staff import Staff
from penstock.errors import DataError, ElementError
from penstock.functions.plain_rows import PlainRows

pytestmark = pytest.mark.usefixtures("one_server")

ROWS = 24


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "usable_cores", lambda: 2)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """The first row of each block that was handed to a worker, and whether nothing was known by then."""
    found: list[tuple[int, bool]] = []
    ask = Workers._ask

    def watched(self: Any, link: Any, laying: Any, numbers: Any, how: Any) -> Any:
        found.append((int(numbers[0]), self._plain.structure is None))
        return ask(self, link, laying, numbers, how)

    monkeypatch.setattr(Workers, "_ask", watched)
    return found


def in_workers(function: Callable[..., Any], *, in_order: bool | None = None) -> ps.Dataset:
    rows = ps.Dataset.range(ROWS)
    return rows.map(function, num_parallel_calls=2, executor="processes", deterministic=in_order)


def signals(folder: Path) -> Callable[[Any], None]:
    """A function that waits at the first element until there was another one."""

    def wait(x: Any) -> None:
        if x != 0:
            (folder / str(int(x))).touch()
        until = time.monotonic() + 60
        while x == 0 and not any(path.name != "0" for path in folder.iterdir()):
            assert time.monotonic() < until
            time.sleep(0.001)

    return wait


def outcomes(ds: ps.Dataset) -> list[Any]:
    """What comes of all elements: results, and what errors are and of which element, in their order."""
    return [
        (type(one).__name__, one.number) if isinstance(one, ElementError) else one
        for one in streams.outcomes(ds)
    ]


def test_given_a_second_run_then_another_worker_does_not_wait_for_the_first_result(
    tmp_path: Path, asked: list[tuple[int, bool]]
) -> None:
    together = signals(tmp_path)
    again = tmp_path / "0"

    def meets(x: Any) -> int:
        if again.exists():
            together(x)
        return int(x)

    ds = in_workers(meets)
    assert [int(x) for x in ds] == list(range(ROWS))
    assert sum(unknown for _, unknown in asked) == 1
    asked.clear()
    again.touch()
    assert [int(x) for x in ds] == list(range(ROWS))
    assert sum(unknown for _, unknown in asked) >= 2


def late(x: Any) -> Any:
    if x == 0:
        time.sleep(0.2)  # others are done before
    return x


@pytest.mark.parametrize(
    "makes",
    [
        lambda x: (late(x), 1) if x else late(x),
        lambda x: {"b": 1, "a": late(x)} if x else {"a": late(x), "b": 1},
        lambda x: [late(x), 2] if x % 2 else (late(x), 2),
        lambda x: [late(x), 1, 2] if x else late(x),
        lambda x: late(x) if x else (late(x), 1),
    ],
    ids=["tuple", "keys in another order", "lists are tuples", "a list is a leaf", "leaf"],
)
def test_given_results_that_differ_then_a_second_run_is_as_the_first(makes: Callable[[Any], Any]) -> None:
    ds = in_workers(makes)
    first = outcomes(ds)
    assert len(first) == ROWS
    for _ in range(2):
        assert repr(outcomes(ds)) == repr(first)


def test_given_first_elements_that_fail_then_the_first_that_does_not_decides() -> None:
    def makes(x: Any) -> Any:
        if x < 6:
            time.sleep(0.02)
            raise ValueError(x)
        return x if x < 8 else (x, 1)

    ds = in_workers(makes)
    for _ in range(3):
        found = outcomes(ds)
        assert found[:6] == [("FunctionError", x) for x in range(6)]
        assert [int(x) for x in found[6:8]] == [6, 7]
        assert found[8:] == [("DataError", x) for x in range(8, ROWS)]


def test_given_results_that_cannot_travel_then_they_are_made_here_in_their_turn() -> None:
    def makes(x: Any) -> Any:
        late(x)
        return threading.Lock() if x else int(x), int(x)

    ds = in_workers(makes)
    for _ in range(3):
        found = outcomes(ds)
        assert [int(x) for _, x in found] == list(range(ROWS))
        assert [type(lock).__name__ for lock, _ in found[1:]] == ["lock"] * (ROWS - 1)


def test_given_results_that_cannot_travel_then_they_do_not_decide_before_their_turn() -> None:
    ds = in_workers(lambda x: (threading.Lock(), x) if x else late(x))
    for _ in range(3):
        found = outcomes(ds)
        assert int(found[0]) == 0
        assert found[1:] == [("DataError", x) for x in range(1, ROWS)]


def test_given_a_worker_that_dies_then_a_second_run_has_all_elements(tmp_path: Path) -> None:
    died = tmp_path / "died"

    def dies(x: Any) -> int:
        if x == 9 and not died.exists():
            died.touch()
            os._exit(3)
        return int(x)

    ds = in_workers(dies)
    died.touch()
    assert [int(x) for x in ds] == list(range(ROWS))
    died.unlink()
    assert [int(x) for x in ds] == list(range(ROWS))
    assert died.exists()


def test_given_a_restored_run_then_the_first_of_what_is_left_decides() -> None:
    def makes(x: Any) -> Any:
        if x == 10:
            time.sleep(0.1)
        return x if x <= 10 else (x, 1)

    ds = in_workers(makes)
    with ds.iterate() as it:
        for _ in range(10):
            next(it)
        state = it.state()
    for _ in range(2):
        found: list[Any] = []
        with ds.ignore_errors().iterate() as whole:
            found = [int(x) for x in whole]
        assert found == list(range(11))
        with ds.iterate(state=state) as it:
            assert int(next(it)) == 10
            with pytest.raises(DataError):
                next(it)


def test_given_a_worker_that_has_made_later_rows_then_these_decide_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def longest_idle(self: Any) -> Any:
        with self._lock:
            if self._idle:
                return self._idle.pop(0)
        return self._start()

    def makes(x: Any) -> Any:
        time.sleep(0.001)
        if x == 0:
            time.sleep(0.06)  # others are done before
            raise ValueError(x)
        return x if x < 8 else (x, 1)

    monkeypatch.setattr(Staff, "take", longest_idle)
    rows = ps.Dataset.range(60).map(makes, num_parallel_calls=2, executor="processes")
    ds = rows.ignore_errors().batch(20)
    for _ in range(3):
        assert [batch.tolist() for batch in ds] == [list(range(1, 8))]


def test_given_no_order_then_one_result_comes_first(asked: list[tuple[int, bool]]) -> None:
    ds = in_workers(late, in_order=False)
    for _ in range(2):
        asked.clear()
        assert sorted(int(x) for x in ds) == list(range(ROWS))
        assert sum(unknown for _, unknown in asked) == 1


def block_of(example: Any) -> Block:
    structure = structure_of(example)
    return Block(structure, [DenseColumn(np.arange(1)) for _ in range(structure.leaves)], 1)


@pytest.mark.parametrize(
    ("known", "made", "holds"),
    [
        (None, [block_of(1)], True),
        (1, [block_of(1), DataError("another")], True),
        ((1, 2), [block_of(1)], False),
        (1, [], False),
        (1, [DataError("another")], False),
        (1, [ElementError("it failed")], True),
        (1, [ElementError("it failed"), block_of((1, 2))], False),
    ],
)
def test_what_was_made_without_knowing_holds_if_it_would_be_made_with(
    known: Any, made: list[Any], holds: bool
) -> None:
    rows = PlainRows([])
    rows.structure = None if known is None else structure_of(known)
    assert agrees(rows, made) is holds
    assert rows.structure == (LEAF if known is None else structure_of(known))
