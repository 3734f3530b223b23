"""Functions that are called over whole blocks, in worker processes."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np
import pytest

import penstock as ps
from engine.leftovers import children
from engine.probes import Partly
from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.structure import structure_of
from penstock.engine import choice, executor, portions, roster, taken, worth
from penstock.engine.processes.calls import Workers
from penstock.engine.processes.link import Link
from penstock.engine.processes.lost import WorkerLost
from penstock.engine.processes.serving import serving
from penstock.engine.processes.slab import NO_ROW, Laying, Slab, lying, slab_bytes
from penstock.engine.processes.wire import Found, How
from penstock.kernels import loading

WIDE = 1 << 15
"""Rows of so many numbers take long enough, and their results lie in the slab."""


pytestmark = pytest.mark.usefixtures("ready_server")


@pytest.fixture(autouse=True)
def two_of_many_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "usable_cores", lambda: 2)
    monkeypatch.setattr(worth, "LEAST", 0.0)
    monkeypatch.setattr(choice, "HEAVY", 1e-7)
    monkeypatch.setattr(choice, "MEASURED", 1e-4)
    monkeypatch.setattr(choice, "LONG_ENOUGH", 0.0)
    monkeypatch.setattr(worth, "COPIED", 0.0)
    monkeypatch.setattr(taken, "Probe", Partly)


def in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worth, "GAIN", 0.1)


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


def in_small_blocks(ds: ps.Dataset) -> ps.Dataset:
    """However quick or slow the machine is, there are enough blocks to measure."""
    return ds.with_options(ps.Options(block_rows=8))


def rows_of(function: Any, count: int = 200) -> ps.Dataset:
    return in_small_blocks(ps.Dataset.range(count).map(function, num_parallel_calls=ps.AUTOTUNE))


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
    assert "lock (the GIL) for 20% of that" in said_there
    assert there == here


@pytest.mark.parametrize(
    ("held", "cores", "copied", "processes"),
    [
        (0.9, 2, 0.0, True),  # threads would take turns
        (0.2, 2, 0.0, False),  # two threads are two cores' worth
        (0.04, 16, 0.0, True),  # sixteen are no more than two or three
        (0.02, 16, 0.0, True),
        (0.005, 16, 0.0, False),  # which may be nothing
        (0.02, 2, 0.0, False),
        (0.2, 16, 20.0, False),  # the way there and back takes twenty times as long
    ],
)
def test_the_lock_the_cores_and_the_way_decide(
    held: float, cores: int, copied: float, processes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roster, "usable_cores", lambda: cores)
    monkeypatch.setattr(Partly, "part", held)
    asked: list[float] = []

    def gained(calls: taken.Taken, cores: int) -> bool:
        monkeypatch.setattr(worth, "COPIED", copied * calls.each / calls.row_bytes)
        asked.append(calls.held)
        assert decided(calls, cores) is processes
        return False

    decided = worth.gained
    monkeypatch.setattr(worth, "gained", gained)
    run(rows_of(alone, 40))
    assert asked
    assert asked == pytest.approx([held] * len(asked))


def test_given_rows_that_take_nothing_then_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "HEAVY", 1.0)
    in_processes(monkeypatch)

    def measured() -> Any:
        raise AssertionError("a block that takes so little stays here")

    monkeypatch.setattr(taken, "Probe", measured)
    _, said = run(rows_of(alone))
    assert "called in" not in said


def workers() -> set[int]:
    """The workers that there are now; waits for the first one."""
    server, until = serving.server()._process.pid, time.monotonic() + 60
    while not (found := children(server)) and time.monotonic() < until:
        time.sleep(0.01)
    return found


def test_when_workers_are_killed_then_every_row_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    here, _ = run(rows_of(first, 600))
    in_processes(monkeypatch)
    there: list[bytes] = []
    with rows_of(first, 600).iterate(seed=3) as it:
        for number, element in enumerate(it):
            there.append(flat(element))
            if number in (200, 300, 400):
                for pid in workers():
                    os.kill(pid, signal.SIGKILL)
                time.sleep(0.01)
        said = str(it.report())
    assert there == here
    assert "of its workers lost and replaced" in said


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


def two_large(x: Any) -> Any:
    row = x + np.linspace(0, 1, WIDE)
    return x, row, row + 1.0


def test_given_results_that_outgrow_the_slab_then_what_was_made_there_is_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, _ = run(rows_of(two_large, 600))
    in_processes(monkeypatch)
    there, said = run(rows_of(two_large, 600))
    assert "worker processes" in said
    assert there == here


@pytest.mark.parametrize(("memory", "times"), [("4GiB", 2), ("100MiB", 1)])
def test_given_many_cores_and_room_then_blocks_are_larger_and_end_with_a_batch(
    memory: str, times: int, sizes: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_processes(monkeypatch)
    monkeypatch.setattr(worth, "CORES", 1)
    monkeypatch.setattr(portions, "PATIENCE", 1e3)
    rows, size = 1000, 4
    ds = ps.Dataset.range(rows).map(alone, num_parallel_calls=ps.AUTOTUNE).batch(size)
    with ds.iterate(memory=memory) as it:
        count = sum(len(next(it)) for _ in range(rows // size // 5))
        assert workers()
        assert count + sum(len(batch) for batch in it) == rows
        most = it._run.block_bytes * times // (8 * WIDE)
    assert max(sizes.values()) == most // size * size
    assert all(count < size or (place + count) % size == 0 for place, count in sizes.items())


@pytest.mark.parametrize("order", [("big", "small"), ("small", "big")])
@pytest.mark.parametrize("grown", [0, 1 << 20])
def test_a_buffer_that_was_made_in_the_slab_stays_there_or_is_moved_whole(
    order: tuple[str, str], grown: int
) -> None:
    numbers, other = np.arange(40_000), np.arange(3) - 7
    slab = Slab.make(slab_bytes(numbers.nbytes + other.nbytes + 64))
    try:
        place = slab.bytes()[: numbers.nbytes].view(np.int64)
        place[:] = numbers
        columns = {"big": DenseColumn(place.reshape(1, -1)), "small": DenseColumn(other.reshape(1, -1))}
        block = Block(structure_of(dict.fromkeys(order)), [columns[name] for name in order], 1)
        laying = Laying(block, lambda _: b"")
        laying.clear_of(slab)
        if grown:
            slab.grow(slab.size + grown)  # at another address
        laying.write(slab)
        seen = lying(laying.laid, slab.bytes(), lambda _: None)
        got = seen.structure.unflatten([column.item(0) for column in seen.columns])
        assert got["big"].tolist() == numbers.tolist()
        assert got["small"].tolist() == other.tolist()
    finally:
        slab.close()


def test_given_a_small_budget_for_kernels_or_none_loaded_then_images_wait_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_processes(monkeypatch)
    monkeypatch.setattr(loading, "_ready", False)
    monkeypatch.setattr(loading, "want", lambda *_: None)
    images = ps.Dataset.from_tensor_slices(np.ones((200, 64, 64, 3), np.uint8))
    scaled = images.map(lambda x: np.sqrt(x / np.float32(255)), num_parallel_calls=ps.AUTOTUNE)
    scaled = in_small_blocks(scaled)
    _, said = run(scaled)
    assert "called in" not in said  # with kernels it would be another matter
    monkeypatch.setattr(loading, "ENOUGH", 1 << 60)  # they never come
    _, said = run(scaled)
    assert "worker processes: it computes" in said  # or in threads until there are some


def test_given_blocks_too_short_to_measure_then_they_stay_here_on_all_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choice, "LONG_ENOUGH", 1e9)
    monkeypatch.setattr(choice, "LOOKS", 3)
    made: list[executor.Executor] = []
    close = executor.Executor.close
    monkeypatch.setattr(executor.Executor, "close", lambda self: (made.append(self), close(self))[1])
    _, said = run(rows_of(alone, 400))
    assert "called in" not in said
    assert [(one._choice._settled, one.alone) for one in made] == [(True, False)]


def test_when_workers_are_lost_with_whole_blocks_again_and_again_then_rows_go_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where memory is enough for a row, and not for a block."""
    here, _ = run(rows_of(first, 900))
    in_processes(monkeypatch)
    hows: list[bool] = []
    call = Workers._call

    def dying(self: Workers, block: Block, numbers: Any, how: How) -> Any:
        hows.append(how.row_by_row)
        if not how.row_by_row:
            raise WorkerLost("it was killed", NO_ROW)
        return call(self, block, numbers, how)

    monkeypatch.setattr(Workers, "_call", dying)
    there, said = run(rows_of(first, 900))
    assert there == here
    lost = sum(1 for row_by_row in hows if not row_by_row)
    assert 0 < lost <= 3 + 3  # those that were under way
    assert "of its workers lost and replaced" in said


def test_when_one_worker_finds_another_result_then_all_call_row_by_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_processes(monkeypatch)
    hows: list[bool] = []
    ask = Workers._ask

    def told(self: Workers, link: Any, laying: Any, numbers: Any, how: How) -> Any:
        hows.append(how.row_by_row)
        answer = ask(self, link, laying, numbers, how)
        return (
            answer if isinstance(answer, str) else (answer[0], Found(0, "a plain call gave another result"))
        )

    monkeypatch.setattr(Workers, "_ask", told)
    here, _ = run(rows_of(alone, 400))
    assert len(here) == 400
    assert hows.count(False) <= 3
    assert hows.count(True) > 0


def test_given_a_timeout_then_it_is_for_each_row_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    in_processes(monkeypatch)
    given: list[float] = []
    receive = Link.receive

    def received(self: Link, timeout: float | None = None) -> Any:
        given.append(timeout or 0.0)
        return receive(self, timeout)

    monkeypatch.setattr(Link, "receive", received)
    run(rows_of(alone, 400).with_options(ps.Options(worker_timeout=50)))
    assert max(given) > 50


def test_given_a_second_pass_then_no_worker_begins_with_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    in_processes(monkeypatch)
    hows: list[How] = []
    ask = Workers._ask

    def asked(self: Workers, link: Any, laying: Any, numbers: Any, how: How) -> Any:
        hows.append(how)
        return ask(self, link, laying, numbers, how)

    ds = rows_of(alone, 400)
    run(ds)
    monkeypatch.setattr(Workers, "_ask", asked)
    run(ds)
    assert [how.row_bytes == 0 for how in hows].count(True) <= 1  # until the first answer
    assert max(how.row_bytes for how in hows) >= 8 * WIDE
