"""Rows that come out of slots and others that take their places, in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock.kernels.compiled.spans  # noqa: F401  (the pass is for where kernels are loaded)
from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.placed_rows import PlacedRows
from penstock.blocks.structure import structure_of
from penstock.kernels import spans
from penstock.kernels.halves import Half
from penstock.kernels.order import exchange
from penstock.memory.ledger import Ledger
from penstock.memory.slots import SlotStore
from penstock.memory.spill import Scratch

SLOTS, COMING, WIDTH = 20, 50, 1500


def rows(first: int, count: int) -> np.ndarray[Any, Any]:
    return (np.arange(first, first + count)[:, None] * 31 + np.arange(WIDTH)).astype(np.uint16)


def block(first: int, count: int, *, placed: bool = False) -> Block:
    array = rows(first, count)
    column = DenseColumn(array)
    if placed:
        begins = array.ctypes.data + np.arange(count) * array[0].nbytes
        column = PlacedRows(begins, [array], array.dtype, array.shape[1:], np.empty)
    numbers = DenseColumn(np.arange(first, first + count))
    return Block(structure_of((0, 0)), [column, numbers], count)


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Scratch]:
    file = Scratch(str(tmp_path))
    yield file
    file.close()


def store_of(scratch: Scratch, budget: int, **more: Any) -> SlotStore:
    ledger = Ledger(budget)
    store = SlotStore(ledger.account("shuffle"), lambda: scratch, **more)
    store.put(np.arange(SLOTS), block(0, SLOTS))
    return store


def out_of(made: Block) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    left, right = made.columns
    assert isinstance(left, DenseColumn)
    assert isinstance(right, DenseColumn)
    return left.array, right.array


@pytest.mark.parametrize("placed", [False, True])
@pytest.mark.parametrize("budget", [64 << 20, 40_000])
def test_given_an_exchange_then_it_is_a_gather_and_a_put_also_where_slots_are_on_disk(
    scratch: Scratch, budget: int, placed: bool
) -> None:
    store = store_of(scratch, budget)
    held = np.arange(SLOTS)
    for turn in range(4):
        first = SLOTS + turn * COMING
        sources, slots, last = exchange(7, turn * COMING, COMING, SLOTS)
        assert (sources < 0).any()
        wanted = np.where(sources < 0, first - 1 - sources, held[np.maximum(sources, 0)])
        held[slots] = first + last
        values, numbers = out_of(store.exchange(sources, block(first, COMING, placed=placed), slots, last))
        np.testing.assert_array_equal(numbers, wanted)
        np.testing.assert_array_equal(values, (wanted[:, None] * 31 + np.arange(WIDTH)).astype(np.uint16))
    _, numbers = out_of(store.gather(np.arange(SLOTS)))
    np.testing.assert_array_equal(numbers, held)
    store.close()


def test_given_many_bytes_then_both_halves_of_the_rows_are_exchanged(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spans, "SHARED", 1)
    done = []

    def second_first(first: Half, second: Half) -> None:
        done.append(1)
        second()
        first()

    store = store_of(scratch, 64 << 20, both=second_first)
    sources, slots, last = exchange(3, 0, COMING, SLOTS)
    values, numbers = out_of(store.exchange(sources, block(SLOTS, COMING), slots, last))
    np.testing.assert_array_equal(values, (numbers[:, None] * 31 + np.arange(WIDTH)).astype(np.uint16))
    kept, numbers = out_of(store.gather(slots))
    np.testing.assert_array_equal(numbers, SLOTS + last)
    np.testing.assert_array_equal(kept, rows(0, SLOTS + COMING)[numbers])
    assert len(done) == 2
    store.close()
