"""Rows of a map that are made where a batch wants them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import same
from penstock.graph.track import Pace
from penstock.memory.buffers import Lease, owner_of
from penstock.ops.parts.assembly import Assembly
from penstock.ops.parts.stacks import Stacks

SIDE, ROWS, BATCH = 160, 75, 16
MEMORY = "64MiB"


def pixels(rows: int = ROWS) -> Any:
    return np.random.default_rng(1).random((rows, SIDE, SIDE)).astype(np.float32)


def twice(x: Any) -> Any:
    return x * np.float32(2)


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many images were copied into batches, part by part."""
    found: list[int] = []
    laid = Assembly._laid

    def watched(self: Assembly, out: Any, rows: Any) -> Any:
        there = out[self.rows : self.rows + 1].ctypes.data == rows.ctypes.data
        if rows.ndim == 3:
            found.append(0 if there else len(rows))
        return laid(self, out, rows)

    monkeypatch.setattr(Assembly, "_laid", watched)
    return found


@pytest.mark.parametrize("calls", [None, 2])
def test_given_batches_larger_than_a_block_then_rows_are_made_in_their_place(
    copies: list[int], calls: int | None
) -> None:
    ds = ps.Dataset.from_tensor_slices(pixels()).map(twice, num_parallel_calls=calls).batch(BATCH)
    with ds.iterate(memory=MEMORY) as it:
        got = list(it)
    assert same(np.concatenate(got), pixels() * 2)
    assert len(copies) > ROWS // BATCH
    assert sum(copies) <= BATCH, "the very first is made by itself"
    assert all(isinstance(owner_of(batch), Lease) for batch in got)


def test_given_little_memory_then_rows_are_copied_as_ever(copies: list[int]) -> None:
    ds = ps.Dataset.from_tensor_slices(pixels()).map(twice).batch(BATCH)
    with ds.iterate(memory="6MiB") as it:
        assert same(np.concatenate(list(it)), pixels() * 2)
    assert sum(copies) >= ROWS - 1


def test_given_results_made_of_others_then_they_are_right() -> None:
    ds = ps.Dataset.from_tensor_slices(pixels()).map(lambda x: x * np.float32(2) + np.float32(1)).batch(BATCH)
    with ds.iterate(memory=MEMORY) as it:
        assert same(np.concatenate(list(it)), pixels() * 2 + 1)


def test_given_rows_that_fail_then_those_after_them_come_to_the_right_place(copies: list[int]) -> None:
    data, bad = pixels(), {5, 6, 31, 40}
    words = [b"a" if i in bad else b"ab" for i in range(ROWS)]
    ds = ps.Dataset.from_tensor_slices((words, data))
    ds = ds.map(lambda w, x: (ps.io.decode_raw(w, np.int16), x * np.float32(2)), num_parallel_calls=2)
    got, failed = [], 0
    with ds.batch(BATCH).iterate(memory=MEMORY) as it:
        while True:
            try:
                got.append(next(it)[1])
            except StopIteration:
                break
            except ps.errors.FunctionError:
                failed += 1
    assert failed == len(bad)
    assert same(np.concatenate(got), np.stack([data[i] * 2 for i in range(ROWS) if i not in bad]))
    assert 0 < sum(copies) < ROWS  # some lie where they belong all the same


def test_given_a_row_that_failed_then_no_stacks_are_begun_for_rows_that_will_not_lie_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[int] = []
    new = Stacks._new

    def watched(self: Stacks, size: int, shape: Any, dtype: Any) -> Any:
        begun.append(size)
        return new(self, size, shape, dtype)

    monkeypatch.setattr(Stacks, "_new", watched)
    monkeypatch.setattr(Pace, "due", True)  # a state is where the run stands, and not before
    bad = range(BATCH + 5, 2 * BATCH + 5)  # as many as one batch, so that a state is taken between two
    rows = 8 * BATCH
    words = [b"a" if i in bad else b"ab" for i in range(rows)]
    ds = ps.Dataset.from_tensor_slices((words, pixels(rows)))
    ds = ds.map(lambda w, x: (ps.io.decode_raw(w, np.int16), x * np.float32(2))).batch(BATCH)
    with ds.on_error("skip").iterate(memory=MEMORY) as it:
        got = [next(it)[1] for _ in range(5)]
        state = it.state()
        got += [batch[1] for batch in it]
    assert sum(map(len, got)) == rows - BATCH
    assert len(begun) == 2
    with ds.on_error("skip").iterate(memory=MEMORY, state=state) as it:
        assert sum(len(batch[1]) for batch in it) == rows - 6 * BATCH
    assert len(begun) == 2


@pytest.mark.parametrize(
    ("place", "most", "rows"),
    [
        (0, 13, 13),
        (13, 13, 13),
        (26, 13, 6),  # up to the end of its stack
        (0, 32, 32),
        (1, 32, 31),
        (31, 32, 1),
        (0, 52, 32),  # whole stacks
        (1, 70, 63),
        (32, 100, 96),
    ],
)
def test_rows_that_are_made_at_once_are_of_one_stack_or_of_whole_ones(
    place: int, most: int, rows: int
) -> None:
    stacks = Stacks(32, cast(Any, None))
    assert stacks.rows_at(place, most) == rows
    stacks.shift()
    assert stacks.rows_at(place, most) == most


def test_given_a_state_then_the_rest_is_the_same() -> None:
    ds = ps.Dataset.from_tensor_slices(pixels()).map(twice, num_parallel_calls=2).batch(BATCH)
    with ds.iterate(memory=MEMORY) as it:
        next(it)
        state = it.state()
        rest = [batch.copy() for batch in it]
    with ds.iterate(memory=MEMORY, state=state) as it:
        assert same(list(it), rest)


def test_given_batches_that_are_kept_then_later_ones_do_not_change_them() -> None:
    ds = ps.Dataset.from_tensor_slices(pixels(8 * BATCH)).map(twice, num_parallel_calls=2).batch(BATCH)
    with ds.iterate(memory=MEMORY) as it:
        got = list(it)
    assert same(np.concatenate(got), pixels(8 * BATCH) * 2)
