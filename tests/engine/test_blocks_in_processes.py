"""Functions that are called over whole blocks, in worker processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as ps
from engine.leftovers import children
from penstock.blocks.block import Block
from penstock.blocks.build import column_of
from penstock.blocks.structure import structure_of
from penstock.engine import executor, parallel
from penstock.engine.gil import Probe
from penstock.engine.processes import serving as serving_module
from penstock.engine.processes.serving import serving
from penstock.engine.processes.slab import Laying, Slab, lying, slab_bytes

WIDE = 1 << 15
"""Rows of so many numbers take long enough, and their results lie in the slab."""


@pytest.fixture(autouse=True, scope="module")
def one_server() -> Iterator[None]:
    """Keeps the server for all runs here, and ends it at once with the last."""
    serving.use()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving_module, "LINGER", 0.0)
        yield
        serving.leave()
    assert serving._server is None


class Partly(Probe):
    """A probe that was held up for a part of the time."""

    part = 0.2

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.held = self.part


@pytest.fixture(autouse=True)
def two_of_many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "usable_cores", lambda: 2)
    monkeypatch.setattr(executor, "LEAST", 0.0)
    monkeypatch.setattr(executor, "HEAVY", 1e-7)
    monkeypatch.setattr(executor, "MEASURED", 1e-4)
    monkeypatch.setattr(executor, "NOTICED", 0.0)
    monkeypatch.setattr(executor, "COPIED", 0.0)
    monkeypatch.setattr(executor, "Probe", Partly)


def in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "GAIN", 0.1)


def image(x: Any) -> Any:
    """A row of many numbers, some of them random."""
    row = x + np.linspace(0, 1, WIDE)
    return np.sqrt(np.abs(row)) + ps.random.uniform((WIDE,), dtype=np.float64)


def last(x: Any) -> Any:
    return x, image(x)


def first(x: Any) -> Any:
    return {"image": image(x), "label": x}


def alone(x: Any) -> Any:
    return image(x)


def rows_of(function: Any, count: int = 200) -> ps.Dataset:
    return ps.Dataset.range(count).map(function, num_parallel_calls=ps.AUTOTUNE)


def flat(element: Any) -> bytes:
    if isinstance(element, dict):
        element = tuple(element.values())
    parts = element if isinstance(element, tuple) else (element,)
    return b"".join(np.asarray(part).tobytes() for part in parts)


def run(ds: ps.Dataset) -> tuple[list[bytes], str]:
    with ds.iterate(seed=3) as it:
        return [flat(element) for element in it], str(it.report())


@pytest.mark.parametrize("function", [alone, first, last])
def test_given_many_cores_and_a_lock_that_is_held_in_part_then_worker_processes_give_the_same(
    function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, said_here = run(rows_of(function))
    assert "worker processes" not in said_here
    in_processes(monkeypatch)
    there, said_there = run(rows_of(function))
    assert "called in worker processes: it holds Python's lock for 20% of its" in said_there
    assert there == here


@pytest.mark.parametrize(
    ("held", "cores", "copied", "processes"),
    [
        (0.9, 2, 0.0, True),  # threads would take turns
        (0.2, 2, 0.0, False),  # two threads are two cores' worth
        (0.04, 16, 0.0, True),  # sixteen are no more than two or three
        (0.02, 16, 0.0, False),  # which may be nothing
        (0.2, 16, 20.0, False),  # the way there and back takes twenty times as long
    ],
)
def test_the_lock_the_cores_and_the_way_decide(
    held: float, cores: int, copied: float, processes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "usable_cores", lambda: cores)
    monkeypatch.setattr(Partly, "part", held)
    asked: list[float] = []

    def gains(self: executor.Executor, share: float, each: float) -> bool:
        monkeypatch.setattr(executor, "COPIED", copied * each * self._rows / self._bytes)
        asked.append(share)
        assert decided(self, share, each) is processes
        return False

    decided = executor.Executor._gains
    monkeypatch.setattr(executor.Executor, "_gains", gains)
    run(rows_of(alone, 40))
    assert asked
    assert asked == pytest.approx([held] * len(asked))


def test_given_rows_that_take_nothing_then_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "HEAVY", 1.0)
    in_processes(monkeypatch)

    def measured() -> Any:
        raise AssertionError("a block that takes so little stays here")

    monkeypatch.setattr(executor, "Probe", measured)
    _, said = run(rows_of(alone))
    assert "called in" not in said


def test_when_workers_are_killed_then_every_row_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    here, _ = run(rows_of(first, 600))
    in_processes(monkeypatch)
    there: list[bytes] = []
    with rows_of(first, 600).iterate(seed=3) as it:
        for number, element in enumerate(it):
            there.append(flat(element))
            if number in (200, 300, 400):
                server = serving.server()._process.pid
                for pid in children(server):
                    os.kill(pid, signal.SIGKILL)
                time.sleep(0.01)
        said = str(it.report())
    assert there == here
    assert "lost of its workers, all replaced" in said


def test_when_a_repeated_map_starts_again_then_workers_work_side_by_side(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_processes(monkeypatch)
    most: list[int] = []
    apply = executor.Executor.apply
    busy: list[int] = []

    def watched(self: executor.Executor, *args: Any) -> Any:
        busy.append(1)
        most.append(len(busy))
        try:
            return apply(self, *args)
        finally:
            busy.pop()

    ds = rows_of(alone, 400).repeat(2)
    with ds.iterate() as it:
        for _ in range(400):
            next(it)
        monkeypatch.setattr(executor.Executor, "apply", watched)
        for _ in it:
            pass
    assert max(most) > 1


def test_a_buffer_that_was_made_in_the_slab_stays_there_or_is_moved_whole() -> None:
    numbers, other = np.arange(40_000), np.arange(3)
    slab = Slab.make(slab_bytes(numbers.nbytes + other.nbytes + 64))
    try:
        for order in (("big", "small"), ("small", "big")):
            place = slab.bytes()[: numbers.nbytes].view(np.int64)
            place[:] = numbers
            leaves = {"big": place.reshape(1, -1), "small": other.reshape(1, -1)}
            element = {name: leaves[name][0] for name in order}
            columns = [column_of([leaf]) for leaf in element.values()]
            columns[order.index("big")].array = place.reshape(1, -1)  # type: ignore[attr-defined]
            laying = Laying(Block(structure_of(element), columns, 1), lambda _: b"")
            laying.write(slab)
            seen = lying(laying.laid, slab.bytes(), lambda _: None)
            got = seen.structure.unflatten([column.item(0) for column in seen.columns])
            assert got["big"].tolist() == numbers.tolist()
            assert got["small"].tolist() == other.tolist()
            del place, leaves, columns, laying, seen, got
    finally:
        slab.close()
