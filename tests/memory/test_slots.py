"""Rows in numbered slots, held in every way, in memory and on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock.kernels.compiled.spans  # noqa: F401  (long strings are moved otherwise where kernels are loaded)
from contract.op_contract import same
from penstock.blocks.block import Block
from penstock.blocks.build import block_of
from penstock.blocks.columns import BytesColumn
from penstock.blocks.placed import PlacedStrings, places_of
from penstock.blocks.structure import structure_of
from penstock.memory.arena import RecordShelf
from penstock.memory.ledger import Ledger
from penstock.memory.shelves import DenseShelf, ObjectShelf
from penstock.memory.slabs import Slabs, rounded
from penstock.memory.slots import SlotStore
from penstock.memory.spill import Scratch


def dense(i: int) -> Any:
    return {"a": np.full((10, 20), i, np.int16), "n": np.int64(i)}


def ragged(i: int) -> Any:
    return {"a": np.full((i % 13, 20), i, np.int16), "n": np.int64(i)}


def strings(i: int) -> Any:
    return (b"x" * (i % 300), "é" * (i % 40), [b"y" * (i % 3), b"z"], np.float32(i))


def long_strings(i: int) -> Any:
    return (bytes([i % 251]) * (1000 + 37 * i % 2000), "é" * (i % 40), np.float32(i))


def as_long(i: int) -> Any:
    return bytes([i % 251]) * 3000


def objects(i: int) -> Any:
    return {"o": None if i % 2 else frozenset({i}), "a": np.full(i % 60, i)}


def turning(i: int) -> Any:
    """Of one shape at first, then of several, then of several dtypes."""
    if i < 300:
        return {"a": np.full((10, 20), i, np.int16), "n": np.int64(i)}
    if i < 600:
        return ragged(i)
    return {"a": np.full(i % 7, i, [np.int16, np.float32][i % 2]), "n": np.int64(i)}


KINDS = {
    dense: DenseShelf,
    ragged: RecordShelf,
    strings: RecordShelf,
    long_strings: RecordShelf,
    as_long: RecordShelf,
    objects: ObjectShelf,
    turning: ObjectShelf,
}


class Trial:
    """A store beside a plain list, through random puts and gathers."""

    def __init__(self, element: Callable[[int], Any], budget: int, seed: int) -> None:
        self.element = element
        self.ledger = Ledger(budget)
        self.account = self.ledger.account("shuffle")
        self.account.expect(budget // 4)
        self.scratch = Scratch()
        self.notes: list[str] = []
        self.store = SlotStore(self.account, lambda: self.scratch, note=self.notes.append)
        self.plain: dict[int, Any] = {}
        self.random = np.random.default_rng(seed)
        self.made = self.blocks = 0

    def block(self, rows: int) -> tuple[Block, list[Any]]:
        elements = [self.element(self.made + i) for i in range(rows)]
        self.made += rows
        block = block_of(structure_of(elements[0]), elements)
        return self.placed(block), list(block.elements())

    def placed(self, block: Block) -> Block:
        """The block with its strings by their addresses, every other time."""
        self.blocks += 1
        columns = [
            PlacedStrings(*places_of(column), np.empty, text=column.text, shape=column.shape)
            if isinstance(column, BytesColumn) and self.blocks % 2
            else column
            for column in block.columns
        ]
        return Block(block.structure, columns, block.rows)

    def fill(self, slots: int) -> None:
        while len(self.plain) < slots:
            rows = min(int(self.random.integers(1, 20)), slots - len(self.plain))
            block, elements = self.block(rows)
            first = len(self.plain)
            self.store.put(np.arange(first, first + rows), block)
            self.plain.update(zip(range(first, first + rows), elements, strict=True))

    def exchange(self) -> None:
        rows = int(self.random.integers(1, 30))
        block, elements = self.block(rows)
        held = self.random.choice(len(self.plain), rows, replace=False)
        sources = np.where(self.random.random(rows) < 0.2, -1 - np.arange(rows), held)
        expected = [self.plain[s] if s >= 0 else elements[-1 - s] for s in sources.tolist()]
        assert same(list(self.store.gather(sources, block).elements()), expected)
        put = self.random.permutation(rows)[: rows // 2 + 1]
        self.store.put(held[put], block, put)
        for slot, row in zip(held[put].tolist(), put.tolist(), strict=True):
            self.plain[slot] = elements[row]

    def swap(self) -> None:
        """A row comes in before the one that it draws comes out."""
        block, [element] = self.block(1)
        slot = int(self.random.integers(len(self.plain)))
        spare = self.store.put_aside(block, slot)
        assert same(list(self.store.gather(np.array([slot])).elements()), [self.plain[slot]])
        self.store.move(spare, slot)
        self.plain[slot] = element

    def check(self) -> None:
        for first in range(0, len(self.plain), 50):
            slots = self.random.permutation(len(self.plain))[first : first + 50]
            expected = [self.plain[slot] for slot in slots.tolist()]
            assert same(list(self.store.gather(slots).elements()), expected)

    def close(self) -> None:
        self.store.close()
        self.ledger.settle()
        assert self.ledger.held == 0
        assert self.scratch.end == 0
        self.scratch.close()


@pytest.mark.parametrize("budget", [1 << 30, 30_000, 8_000])
@pytest.mark.parametrize("element", KINDS, ids=lambda element: element.__name__)
def test_given_any_rows_and_budget_then_slots_hold_what_was_put(
    element: Callable[[int], Any], budget: int
) -> None:
    trial = Trial(element, budget, seed=budget)
    trial.fill(250)
    for _ in range(60):
        trial.exchange()
    trial.check()
    assert isinstance(trial.store._shelf, KINDS[element])
    assert trial.ledger.peak <= budget
    assert bool(trial.notes) == (budget < 1 << 30)
    trial.close()


@pytest.mark.parametrize("budget", [1 << 30, 30_000, 8_000])
@pytest.mark.parametrize("element", KINDS, ids=lambda element: element.__name__)
def test_given_rows_that_are_put_aside_then_they_are_in_their_slots_when_the_others_are_out(
    element: Callable[[int], Any], budget: int
) -> None:
    trial = Trial(element, budget, seed=budget)
    trial.fill(250)
    for number in range(400):
        trial.swap()
        if number % 40 == 0:
            trial.exchange()
    trial.check()
    assert trial.ledger.peak <= budget
    trial.close()


def test_given_rows_of_more_than_a_mebibyte_then_what_was_put_aside_is_not_copied_in_the_file() -> None:
    trial = Trial(lambda i: np.full(150_000, i), 100, seed=1)
    trial.fill(3)
    trial.scratch.copy = None  # type: ignore[assignment, method-assign]
    for _ in range(4):
        trial.swap()
    trial.check()
    trial.close()


@pytest.mark.parametrize("element", KINDS, ids=lambda element: element.__name__)
def test_when_memory_is_asked_back_then_it_is_given_and_the_rows_stay(
    element: Callable[[int], Any],
) -> None:
    trial = Trial(element, 1 << 30, seed=3)
    trial.fill(250)
    held = trial.account.reserved
    trial.store._give_back(held // 3)
    assert trial.account.reserved <= held - held // 3
    trial.check()
    for _ in range(20):
        trial.exchange()
    trial.ledger.account("other").expect((1 << 30) - 10_000)
    trial.exchange()
    assert trial.account.reserved <= 10_000
    trial.check()
    trial.close()


def test_given_strings_that_come_and_go_then_the_arena_does_not_grow() -> None:
    trial = Trial(strings, 1 << 30, seed=4)
    trial.fill(250)
    held = trial.account.reserved
    for _ in range(300):
        trial.exchange()
    assert trial.account.reserved <= 2 * held
    shelf = trial.store._shelf
    assert isinstance(shelf, RecordShelf)
    assert shelf._live == shelf._lengths[shelf._away < 0].sum()
    trial.close()


def test_given_records_of_one_length_then_each_lies_where_the_last_one_of_its_slot_lay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trial = Trial(as_long, 1 << 30, seed=4)
    trial.fill(250)
    held = trial.account.reserved
    monkeypatch.setattr(RecordShelf, "_compact", None)
    for _ in range(300):
        trial.exchange()
    assert trial.account.reserved == held
    trial.check()
    trial.close()


def test_given_a_full_arena_then_dead_records_make_room_for_new_ones() -> None:
    trial = Trial(strings, 24_000, seed=6)
    trial.fill(250)
    shares = []
    for _ in range(300):
        trial.exchange()
        shelf = trial.store._shelf
        assert isinstance(shelf, RecordShelf)
        shares.append(shelf._live / trial.account.reserved)
    assert np.mean(shares) > 0.88
    trial.close()


def test_given_a_store_on_disk_then_its_file_does_not_grow() -> None:
    trial = Trial(strings, 4000, seed=5)
    trial.fill(250)
    for _ in range(300):
        trial.exchange()
    assert trial.scratch.end <= 4 << 20
    trial.close()


def test_given_any_length_then_its_place_is_a_little_larger() -> None:
    for length in range(1, 10_000):
        assert length <= rounded(length) <= max(length + 8, length * 1.15)


def test_given_free_places_then_they_are_used_again() -> None:
    scratch = Scratch()
    slabs = Slabs(lambda: scratch)
    record = np.arange(100, dtype=np.uint8)
    first = slabs.write(record)
    slabs.free(first, 100)
    assert slabs.write(record[:99]) == first
    slabs.close()
    assert scratch.end == 0
    scratch.close()
