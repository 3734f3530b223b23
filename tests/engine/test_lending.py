"""Results of worker processes that stay where they were laid."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as ps
from engine.leftovers import descriptors
from penstock.engine.processes import lending
from penstock.engine.processes.lending import LEAST, MOST, Lending, forks
from penstock.engine.processes.link import Link
from penstock.engine.processes.slab import HEAD, Slab, slab_bytes
from penstock.memory.ledger import Ledger
from penstock.memory.shared import Budget

pytestmark = pytest.mark.usefixtures("one_server")
WIDE = 1 << 15
"""So many numbers make a row that is worth a slab."""


def wide(x: Any) -> Any:
    return np.full(WIDE, x, np.float64)


def rows(count: int) -> ps.Dataset:
    return ps.Dataset.range(count).map(wide, num_parallel_calls=2, executor="processes")


@pytest.fixture
def slabs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of all slabs that are made for results."""
    made: list[int] = []
    make = Link.slab

    def counted(self: Link, size: int) -> Slab:
        made.append(size)
        return make(self, size)

    monkeypatch.setattr(Link, "slab", counted)
    return made


def test_given_elements_that_are_kept_then_later_ones_do_not_change_them() -> None:
    with rows(200).iterate() as it:
        kept = list(it)
    assert all((row == number).all() for number, row in enumerate(kept))


def test_when_elements_are_dropped_then_their_slabs_are_used_again(slabs: list[int]) -> None:
    for number, row in enumerate(rows(400)):
        assert row[0] == row[-1] == number
    large = [size for size in slabs if size >= LEAST]
    assert 0 < len(large) < 100  # and not one for each of 400


def test_given_elements_that_are_kept_then_there_are_no_more_slabs_than_for_others(slabs: list[int]) -> None:
    kept = list(rows(400))
    large = [size for size in slabs if size >= LEAST]
    assert len(large) < 100
    assert len(kept) == 400


def test_when_there_is_no_other_slab_then_results_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lending, "_other", lambda *_: None)
    with rows(60).iterate() as it:
        kept = list(it)
    assert all((row == number).all() for number, row in enumerate(kept))


def test_when_a_run_is_closed_then_a_kept_element_stays_and_no_descriptor_does() -> None:
    list(rows(4))  # what is opened once is open
    before = descriptors()
    with rows(50).iterate() as it:
        kept = next(it)
    assert descriptors() <= before
    assert (kept == 0).all()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_when_a_child_is_forked_then_what_it_looks_at_is_not_used_again() -> None:
    go_on, told = os.pipe()
    with rows(300).iterate() as it:
        element = next(it)
        child = os.fork()
        if not child:
            os.read(go_on, 1)
            os._exit(0 if (element == 0).all() else 1)
        del element
        for _ in it:
            pass
    os.write(told, b"!")
    assert os.waitpid(child, 0)[1] == 0
    os.close(go_on)
    os.close(told)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("count", [6, 300])
def test_when_a_forked_child_writes_into_an_element_then_it_is_its_own(count: int) -> None:
    """After the end of a run, and while its workers are there."""
    with rows(count).iterate() as it:
        kept = [row for _, row in zip(range(6), it, strict=False)]
        if count == 6:
            it.close()
        child = os.fork()
        if not child:
            for row in kept:
                row += 1000.0
            os._exit(0 if all(row[0] >= 1000.0 for row in kept) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert [row[0] for row in kept] == [0, 1, 2, 3, 4, 5]


def test_given_a_small_budget_then_few_bytes_wait(ledger: Ledger, lends: tuple[Lending, Any]) -> None:
    lent, worker = lends
    raw = lent.lend(worker, LEAST)
    ledger.shared = Budget.of(7 * SIZE)
    del raw
    ledger.settle()
    assert (worker.spare, len(worker.dropped)) == ([], 1)


class Worker:
    """What lending knows of a worker."""

    def __init__(self) -> None:
        self.spare: list[Slab] = []
        self.out: set[Slab] = set()
        self.dropped: list[int] = []
        self.dismissed = False
        self.made = self.slab(SIZE)

    def slab(self, size: int) -> Slab:
        made = Slab.make(size)
        made.number = self.made.number + 1 if hasattr(self, "made") else 1
        return made


SIZE = slab_bytes(LEAST)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(64 << 20)


@pytest.fixture
def lends(ledger: Ledger) -> Iterator[tuple[Lending, Any]]:
    account, worker = ledger.account("map"), Worker()
    assert account.request(SIZE)
    lent = Lending(ledger, account)
    lent.begin(worker)  # type: ignore[arg-type]
    yield lent, worker
    account.release(worker.made.size)
    worker.made.close()
    lent.end(worker)  # type: ignore[arg-type]
    ledger.settle()
    assert account.held == 0


def test_a_slab_is_watched_while_somebody_looks_at_it_and_reserved_while_it_waits(
    ledger: Ledger, lends: tuple[Lending, Any]
) -> None:
    lent, worker = lends
    slab = worker.made
    raw = lent.lend(worker, LEAST)
    assert raw is not None and raw.nbytes == SIZE - HEAD
    assert worker.made is not slab
    account = ledger.account("map")
    assert (account.held, account.reserved) == (2 * SIZE, SIZE)
    view = raw[10:20]
    del raw
    ledger.settle()
    assert worker.spare == []
    del view
    ledger.settle()
    assert worker.spare == [slab]
    assert (account.held, account.reserved) == (2 * SIZE, 2 * SIZE)


def test_when_the_room_is_needed_then_slabs_that_wait_go(ledger: Ledger, lends: tuple[Lending, Any]) -> None:
    lent, worker = lends
    number = worker.made.number
    raw = lent.lend(worker, LEAST)
    del raw
    ledger.settle()
    (slab,) = worker.spare
    ledger.make_room(ledger.budget - SIZE)
    assert (worker.spare, worker.dropped, slab.descriptor) == ([], [number], -1)
    assert ledger.account("map").held == SIZE


def test_no_more_than_a_few_slabs_are_out(lends: tuple[Lending, Any]) -> None:
    lent, worker = lends
    held = [lent.lend(worker, LEAST) for _ in range(MOST + 2)]
    assert [raw is None for raw in held] == [False] * MOST + [True] * 2


def test_a_slab_that_is_discarded_gives_its_memory_back_whoever_has_it_mapped() -> None:
    slab = Slab.make(SIZE)
    other = os.dup(slab.descriptor)
    slab.bytes()[:] = 1
    slab.discard()
    assert os.fstat(other).st_blocks == 0
    os.close(other)


def test_given_few_bytes_in_a_large_slab_then_they_are_to_be_copied(lends: tuple[Lending, Any]) -> None:
    lent, worker = lends
    assert lent.lend(worker, SIZE // 2 - 1) is None
    assert lent.lend(worker, LEAST - 1) is None


def test_after_a_fork_a_slab_that_was_out_is_left_to_the_child(
    ledger: Ledger, lends: tuple[Lending, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lent, worker = lends
    raw = lent.lend(worker, LEAST)
    monkeypatch.setattr(lending.forks, "count", forks.count + 1)
    del raw
    ledger.settle()
    assert worker.spare == []
    assert len(worker.dropped) == 1
