"""Freed memory that the C library keeps, and when it is asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.structure import LEAF
from penstock.memory import overhead
from penstock.memory.ledger import Ledger
from penstock.memory.overhead import ALLOWED, Overhead

MIB = 1 << 20
BUDGET = 64 * MIB


class Process:
    """A made-up process, of which trimming gives back some."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.has = 100 * MIB
        self.free = 0
        self.trims = 0
        monkeypatch.setattr(overhead, "anonymous_memory", lambda: self.has)
        monkeypatch.setattr(overhead, "return_free_memory", self._trim)

    def _trim(self) -> None:
        self.trims += 1
        self.has -= self.free
        self.free = 0


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Process:
    return Process(monkeypatch)


def test_given_a_budget_with_room_then_freed_memory_stays_where_it_is(process: Process) -> None:
    watch = Overhead(BUDGET)
    watch.look(0, 0)
    process.has += BUDGET + ALLOWED
    watch.look(10 * MIB, 0)
    assert process.trims == 0


def test_when_a_process_is_over_its_budget_then_free_memory_is_asked_for(process: Process) -> None:
    watch = Overhead(BUDGET)
    watch.look(0, 0)
    process.has += BUDGET + ALLOWED + 1
    process.free = 30 * MIB
    watch.look(10 * MIB, 0)
    assert process.trims == 1
    watch.look(10 * MIB, 0)
    assert process.trims == 1, "there is room again"


def test_given_what_the_user_holds_then_it_is_not_taken_for_freed_memory(process: Process) -> None:
    watch = Overhead(BUDGET)
    watch.look(0, 0)
    process.has += 10 * BUDGET
    watch.look(0, 10 * BUDGET)
    assert process.trims == 0


def test_given_memory_that_trimming_does_not_give_back_then_it_is_not_asked_for_again(
    process: Process,
) -> None:
    watch = Overhead(BUDGET)
    watch.look(0, 0)
    process.has += 3 * BUDGET
    watch.look(BUDGET, 0)
    assert process.trims == 1
    watch.look(BUDGET, 0)
    assert process.trims == 1
    process.has += ALLOWED + 1
    watch.look(BUDGET, 0)
    assert process.trims == 2, "but what has come since is"


def test_when_other_memory_of_the_process_goes_then_the_run_gets_no_more_for_that(process: Process) -> None:
    watch = Overhead(BUDGET)
    watch.look(0, 0)
    process.has -= 50 * MIB
    watch.look(0, 0)
    process.has += BUDGET + ALLOWED + 1
    watch.look(0, 0)
    assert process.trims == 1


def test_when_a_run_ends_then_free_memory_goes_back(
    process: Process,
) -> None:
    watch = Overhead(BUDGET)
    watch.look(0, 0)
    process.has += 2 * ALLOWED
    watch.end(0, 0)
    assert process.trims == 1


@pytest.mark.parametrize("more", [0, ALLOWED])
def test_given_little_freed_memory_when_a_run_ends_then_nothing_is_done(process: Process, more: int) -> None:
    watch = Overhead(BUDGET)
    watch.look(0, 0)
    process.has += more
    watch.end(0, 0)
    assert process.trims == 0


def test_given_a_run_that_has_freed_next_to_nothing_when_it_ends_then_nobody_looks(process: Process) -> None:
    process.has += BUDGET
    Overhead(BUDGET).end(0, 0)
    assert process.trims == 0


def test_when_buffers_have_died_then_the_ledger_looks_after_every_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = Ledger(BUDGET)
    account = ledger.account("map")
    looks = []
    monkeypatch.setattr(ledger.shared._overhead, "look", lambda held, lent: looks.append((held, lent)))
    ledger.claim(account, 5)
    for _ in range(9):
        array = np.zeros((1, ledger.shared._overhead.step // 4), np.uint8)
        account.adopt(Block(LEAF, [DenseColumn(array)], 1))
        del array
    ledger.settle()
    assert looks == [(5, 0)], "a step is four of these buffers, and looked at with the next one"


def test_when_a_run_leaves_its_budget_then_freed_memory_is_looked_at_for_the_last_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = Ledger(BUDGET)
    ends = []
    monkeypatch.setattr(ledger.shared._overhead, "end", lambda held, lent: ends.append((held, lent)))
    assert ledger.account("cache").request(3)
    ledger.leave()
    assert ends == [(3, 0)]


def test_given_a_budget_of_any_size_then_the_steps_are_small() -> None:
    assert [Overhead(budget).step for budget in (MIB, BUDGET, 1 << 40)] == [MIB, 2 * MIB, 16 * MIB]


def test_given_the_figures_of_the_kernel_then_pages_of_files_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overhead, "STATM", tmp_path / "statm")
    assert overhead.anonymous_memory() == 0
    (tmp_path / "statm").write_text("9000 1000 300 1 0 500 0\n")
    assert overhead.anonymous_memory() == 700 * overhead.mmap.PAGESIZE
