"""Rows kept in the order in which they came."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from contract.op_contract import same
from penstock.blocks.block import Block
from penstock.blocks.build import block_of
from penstock.blocks.structure import structure_of
from penstock.memory.account import Account
from penstock.memory.ledger import Ledger
from penstock.memory.rowlog import CHUNK, RowLog
from penstock.memory.spill import Scratch


def element(i: int) -> dict[str, Any]:
    return {"a": np.full(1000, i), "b": b"x" * (i % 50), "o": None if i % 3 else frozenset({i})}


def block(first: int, rows: int) -> Block:
    return block_of(structure_of(element(0)), [element(i) for i in range(first, first + rows)])


class Log:
    """A log with a ledger of its own."""

    def __init__(self, budget: int) -> None:
        self.ledger = Ledger(budget)
        self.account: Account = self.ledger.account("log")
        self.scratch = Scratch()
        self.notes: list[str] = []
        self.log = RowLog(self.account, lambda: self.scratch, note=self.notes.append)

    def fill(self, rows: int, step: int = 7) -> None:
        for first in range(self.log.rows, rows, step):
            self.log.append(block(first, min(step, rows - first)))

    def check(self, first: int = 0, step: int = 5) -> None:
        at = first
        while at < self.log.rows:
            read = self.log.read(at, step)
            assert 1 <= read.rows <= step
            assert same(list(read.elements()), [element(at + i) for i in range(read.rows)])
            at += read.rows

    def in_memory(self) -> int:
        return sum(chunk.block is not None for chunk in self.log._chunks)


@pytest.fixture(params=[1 << 30, 1 << 20])
def kept(request: pytest.FixtureRequest) -> Iterator[Log]:
    kept = Log(request.param)
    yield kept
    kept.log.close()
    kept.ledger.settle()
    assert kept.ledger.held == 0
    assert kept.scratch.end == 0
    kept.scratch.close()


def test_given_rows_then_they_are_read_as_they_came(kept: Log) -> None:
    kept.fill(500)
    kept.check()
    assert kept.ledger.peak <= kept.ledger.budget
    assert bool(kept.notes) == (kept.ledger.budget == 1 << 20)


def test_given_rows_dropped_then_the_others_stay_and_space_is_used_again(kept: Log) -> None:
    for turn in range(1, 12):
        kept.fill(200 * turn)
        kept.log.drop_before(200 * turn - 100)
        kept.check(200 * turn - 100)
    assert kept.scratch.end < 6 << 20  # 17 MiB have passed
    with pytest.raises(IndexError):
        kept.log.read(10, 1)


def test_given_small_appends_then_they_are_joined() -> None:
    for budget in (1 << 30, 1 << 20):
        kept = Log(budget)
        kept.fill(600, step=1)
        sizes = [chunk.size for chunk in kept.log._chunks]
        assert min(sizes) >= min(CHUNK, budget // 64) // 2
        kept.check()
        kept.log.close()
        kept.scratch.close()


def test_given_a_small_view_of_a_large_buffer_then_only_its_rows_are_kept() -> None:
    kept = Log(1 << 30)
    big = block(0, 500)
    kept.log.append(big.slice(3, 4))
    assert kept.account.held < 20_000
    assert all(not np.shares_memory(buffer, big.columns[0].buffers()[0])
               for buffer in kept.log.read(0, 1).buffers())  # fmt: skip
    kept.scratch.close()


@pytest.mark.parametrize("step", [7, 50])
def test_given_rows_read_then_they_are_counted_once_and_cannot_be_changed(step: int) -> None:
    kept = Log(1 << 30)
    kept.fill(100, step=step)
    kept.ledger.settle()
    held = kept.ledger.held
    read = kept.log.read(0, 10)
    kept.ledger.account("reader").adopt(read)
    assert kept.ledger.held == held
    kept.ledger.lend(read)
    assert (kept.ledger.held, kept.ledger.lent) == (held, 0)
    with pytest.raises(ValueError, match="read-only"):
        read.element(0)["a"][0] = 1
    kept.log.close()
    kept.ledger.settle()
    assert kept.ledger.held == 0
    assert kept.ledger.lent > 0  # the user has it still
    del read
    kept.ledger.settle()
    assert kept.ledger.lent == 0
    kept.scratch.close()


def test_when_another_op_needs_memory_then_rows_go_to_disk() -> None:
    kept = Log(4 << 20)
    kept.fill(300)
    before = kept.in_memory()
    kept.ledger.account("other").need(3 << 20, "")
    kept.ledger.make_room(3 << 20)
    assert kept.in_memory() < before
    assert kept.ledger.held <= 1 << 20
    kept.check()
    kept.scratch.close()


def test_when_more_is_in_flight_then_the_next_append_gives_memory_back() -> None:
    kept = Log(4 << 20)
    kept.fill(300)
    kept.ledger.account("other").expect(3 << 20)
    kept.fill(310)
    assert kept.account.reserved <= 1 << 20
    kept.check()
    kept.scratch.close()


def test_when_detached_then_little_stays_in_memory_and_another_run_goes_on() -> None:
    kept = Log(1 << 30)
    kept.fill(1000)
    kept.log.detach(1 << 20)
    kept.ledger.settle()
    assert kept.ledger.held == 0
    assert sum(chunk.size for chunk in kept.log._chunks if chunk.block is not None) <= 1 << 20
    other = Ledger(1 << 20)
    kept.log.attach(other.account("cache"), np.empty, kept.notes.append)
    kept.fill(1100)
    kept.check()
    assert other.peak <= other.budget
    kept.log.close()
    kept.scratch.close()


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 300)), max_size=20))
@settings(max_examples=60, deadline=None)
def test_given_space_freed_in_any_order_then_no_two_pieces_overlap(steps: Any) -> None:
    scratch = Scratch()
    taken: list[tuple[int, int]] = []
    for which, size in steps:
        if which < len(taken):
            scratch.free(*taken.pop(which))
        elif size:
            offset = scratch.allocate(size)
            assert all(offset + size <= a or a + b <= offset for a, b in taken)
            taken.append((offset, size))
    assert scratch.end >= sum(size for _, size in taken)
    while taken:
        scratch.free(*taken.pop())
    assert scratch.end == 0
    scratch.close()


def test_when_asked_for_memory_just_after_it_left_its_run_then_nothing_is_given_back_twice() -> None:
    kept = Log(1 << 30)
    kept.fill(2000)
    keepers = list(kept.ledger.keepers)
    kept.log.detach(1 << 30)
    assert kept.in_memory()
    for keeper in keepers:
        keeper(1 << 20)
    kept.ledger.settle()
    assert (kept.account.reserved, kept.ledger.reserved) == (0, 0)
    kept.scratch.close()


def test_when_a_scratch_file_is_closed_then_its_descriptor_is_used_no_more() -> None:
    scratch = Scratch()
    data = np.arange(100, dtype=np.uint8)
    scratch.write(scratch.allocate(100), data)
    with scratch._descriptor() as fd:
        scratch.close()
        os.fstat(fd)  # open as long as somebody is reading or writing
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(fd)
    for use in (scratch.write, scratch.read):
        with pytest.raises(ps.errors.ClosedError):
            use(0, data)
    with pytest.raises(ps.errors.ClosedError):
        scratch.allocate(1)
    scratch.free(0, 100)
    scratch.close()
