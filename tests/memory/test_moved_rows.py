"""Rows that move from one kind of shelf to another: a few at a time, whatever their size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from contract.op_contract import same
from penstock.blocks.block import Block
from penstock.blocks.build import block_of
from penstock.blocks.structure import structure_of
from penstock.memory.ledger import Ledger
from penstock.memory.shelves import Shelf
from penstock.memory.slots import MOVED, SlotStore
from penstock.memory.spill import Scratch


@pytest.fixture
def scratch() -> Iterator[Scratch]:
    file = Scratch()
    yield file
    file.close()


def block(element: Any) -> Block:
    return block_of(structure_of(element), [element])


def of_one_shape(i: int) -> Any:
    return np.full(300_000, i, np.uint8)


def of_many_shapes(i: int) -> Any:
    return np.full(300_000 - i, i, np.uint8)


def small(i: int) -> Any:
    return np.full(3, i, np.uint8)


@pytest.mark.parametrize("budget", [64 << 20, 4 << 20])
@pytest.mark.parametrize(
    ("element", "most"), [(of_one_shape, 3), (of_many_shapes, 3), (small, 60)], ids=["one", "many", "small"]
)
def test_when_a_row_of_another_kind_comes_then_the_others_move_about_a_mebibyte_at_a_time(
    element: Any, most: int, budget: int, scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(budget)
    store = SlotStore(ledger.account("shuffle"), lambda: scratch)
    for i in range(60):
        store.put(np.array([i]), block(element(i)))
    shelf = store._shelf
    assert shelf is not None
    kind: type[Shelf] = type(shelf)
    moved: list[int] = []
    plain = kind.gather

    def gather(self: Shelf, sources: Any, block: Any, empty: Any) -> Block:
        moved.append(len(sources))
        return plain(self, sources, block, empty)

    monkeypatch.setattr(kind, "gather", gather)
    store.put(np.array([60]), block("text"))
    monkeypatch.undo()
    assert sum(moved) == 60
    assert max(moved) == most, f"{MOVED} bytes of rows"
    rows = [store.gather(np.array([i])).element(0) for i in range(61)]
    assert all(same(row, element(i)) for i, row in enumerate(rows[:60]))
    assert rows[60] == "text"
    assert ledger.peak <= budget
    store.close()
    assert ledger.held == 0


def test_given_a_budget_for_the_rows_and_little_more_when_they_move_then_they_stay_in_memory(
    scratch: Scratch,
) -> None:
    ledger = Ledger(24 << 20)
    notes: list[str] = []
    store = SlotStore(ledger.account("shuffle"), lambda: scratch, note=notes.append)
    for i in range(60):
        store.put(np.array([i]), block(of_many_shapes(i)))
    assert 17 << 20 < ledger.held < 20 << 20
    store.put(np.array([60]), block("text"))
    assert notes == []
    store.close()
