"""One budget for several runs."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.structure import LEAF
from penstock.memory.account import Account
from penstock.memory.budget import resolve_budget
from penstock.memory.ledger import Ledger
from penstock.memory.pool import SMALLEST, Pool
from penstock.memory.shared import Budget

MIB = 1 << 20


def block_of(size: int) -> Block:
    return Block(LEAF, [DenseColumn(np.zeros((1, size), np.uint8))], 1)


class Keeper:
    """Gives back reserved bytes when it is asked, as far as it has them."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.asked: list[int] = []
        account.ledger.keepers.append(self)

    def __call__(self, size: int) -> None:
        self.asked.append(size)
        self.account.release(min(size, self.account.reserved))


def test_given_two_ledgers_then_what_one_holds_the_other_cannot_have() -> None:
    budget = Budget.of(1000)
    first, second = Ledger(budget), Ledger(budget)
    assert first.account("shuffle").request(500)
    assert not second.account("shuffle").request(600)
    # What is left, but for an eighth of a share for the blocks of the first.
    assert second.account("shuffle").request(500)
    assert budget.held == 1000


def test_given_a_run_that_has_more_than_its_share_when_another_asks_within_its_own_then_it_gives() -> None:
    budget = Budget.of(1000)
    first = Ledger(budget)
    keeper = Keeper(first.account("shuffle"))
    assert first.account("shuffle").request(900)
    second = Ledger(budget)
    assert second.account("cache").request(300)
    assert first.held + second.held <= 1000
    assert first.held >= 500, "no more than what it had above its share"
    assert keeper.asked


def test_given_a_run_that_lacks_more_than_another_has_above_its_share_then_that_one_keeps_its_share() -> None:
    budget = Budget.of(1000)
    first, second = Ledger(budget), Ledger(budget)
    Keeper(first.account("shuffle"))
    assert first.account("shuffle").request(550)
    second.account("map").expect(200)
    assert not second.account("cache").request(400)
    assert first.held == 500


def test_given_a_run_within_its_share_when_another_asks_for_more_than_its_own_then_it_gives_nothing() -> None:
    budget = Budget.of(1000)
    first, second = Ledger(budget), Ledger(budget)
    keeper = Keeper(first.account("shuffle"))
    assert first.account("shuffle").request(450)
    assert not second.account("cache").request(600)
    assert keeper.asked == []


def test_when_an_element_is_needed_then_another_run_gives_way_even_within_its_share() -> None:
    budget = Budget.of(1000)
    first, second = Ledger(budget), Ledger(budget)
    Keeper(first.account("shuffle"))
    assert first.account("shuffle").request(450)
    second.account("batch").need(700, "")
    assert first.held <= 300


def test_given_elements_of_other_runs_then_one_that_does_not_fit_beside_them_is_refused() -> None:
    budget = Budget.of(1000)
    first, second = Ledger(budget), Ledger(budget)
    first.account("batch").need(600, "")
    with pytest.raises(ps.errors.BudgetError, match="beside the 600 B of 1 other runs that share it"):
        second.account("batch").need(500, "")
    first.leave()
    second.account("batch").need(500, "")


def test_given_idle_buffers_of_one_run_then_another_may_have_their_memory() -> None:
    budget = Budget(32 * SMALLEST)
    first, second = Ledger(budget), Ledger(budget)
    pool = Pool(first)
    pair = [pool.empty(first.account("map"), SMALLEST, np.uint8) for _ in range(2)]
    del pair
    first.settle()
    assert budget.held == 2 * SMALLEST
    assert second.account("shuffle").request(30 * SMALLEST)
    assert first.held == 2 * SMALLEST
    kept = block_of(SMALLEST)
    second.account("map").adopt(kept)
    assert (first.held, second.held) == (SMALLEST, 31 * SMALLEST)


def test_given_a_run_that_has_not_settled_then_what_has_died_there_does_not_count() -> None:
    budget = Budget.of(1000)
    first, second = Ledger(budget), Ledger(budget)
    kept = block_of(450)
    first.account("map").adopt(kept)
    del kept
    assert second.account("shuffle").request(400)
    assert budget.held == 400


def test_when_a_run_leaves_then_the_budget_is_there_for_the_others() -> None:
    budget = Budget.of(1000)
    first, second = Ledger(budget), Ledger(budget)
    assert first.account("shuffle").request(800)
    first.leave()
    first.leave()
    assert (budget.runs, budget.held, first.held) == (1, 0, 800)
    assert second.account("shuffle").request(1000)
    first.account("shuffle").release(800)
    assert budget.held == 1000, "what the first gives back now is not the others'"


def test_when_runs_end_then_nothing_of_them_stays_in_the_budget() -> None:
    budget = ps.Budget("16MiB")
    ds = ps.Dataset.range(9).map(images).shuffle(5)
    for stop in (0, 1, 9):
        it = ds.iterate(memory=budget)
        for _ in range(stop):
            next(it)
        assert budget.runs == 1
        it.close()
        assert (budget.runs, budget.held) == (0, 0)


def test_given_no_size_then_all_runs_share_one_budget_and_with_a_size_each_has_its_own() -> None:
    ds = ps.Dataset.range(3)
    with ds.iterate() as one, ds.iterate() as two, ds.iterate(memory="8MiB") as own:
        assert one._run.ledger.shared is two._run.ledger.shared
        assert own._run.ledger.shared.runs == 1
    environment = {"PENSTOCK_MEMORY": "24MiB"}
    first = resolve_budget(None, ps.Options(), environment)
    assert resolve_budget(None, ps.Options(), environment) is first
    assert resolve_budget(first, ps.Options(), environment) is first
    assert resolve_budget(None, ps.Options(memory=first), {}) is first


def test_given_options_with_a_budget_then_they_can_be_pickled_and_the_copy_has_its_size() -> None:
    budget = ps.Budget("24MiB")
    ds = ps.Dataset.range(5).with_options(ps.Options(memory=budget))
    copied = pickle.loads(pickle.dumps(ds)).options().memory
    assert copied is not budget
    assert copied.total == 24 * MIB
    with ds.iterate() as it:
        assert it.report().budget == 24 * MIB
        assert budget.runs == 1


@pytest.mark.parametrize("size", ["much", 0, None, 1.5])
def test_given_a_wrong_size_then_a_budget_is_refused(size: Any) -> None:
    with pytest.raises((ps.errors.ArgumentError, ps.errors.ArgumentTypeError), match=r"Budget\(memory=\)"):
        ps.Budget(size)


def test_given_more_runs_then_blocks_are_smaller() -> None:
    budget = ps.Budget("16MiB")
    ds = ps.Dataset.range(1000).batch(10)
    with ds.iterate(memory=budget) as one:
        alone = one._run.block_bytes
        others = [ds.iterate(memory=budget) for _ in range(7)]
        assert one._run.block_bytes == alone // 8
        for it in others:
            it.close()
        assert one._run.block_bytes == alone


def images(i: Any) -> Any:
    return np.full((64, 64, 3), i % 251, np.float32)  # 48 KiB


PIPELINES: dict[str, Callable[[int], ps.Dataset]] = {
    "shuffle": lambda n: ps.Dataset.range(n).map(images).shuffle(400).batch(4),
    "prefetch": lambda n: ps.Dataset.range(n).map(images).batch(4).prefetch(ps.AUTOTUNE),
    "cache": lambda n: ps.Dataset.range(n // 2).map(images).cache().repeat(2).batch(4),
    "parallel": lambda n: ps.Dataset.range(n).map(images, num_parallel_calls=2).batch(4).prefetch(2),
}


@pytest.mark.parametrize("count", [2, 12])
def test_given_runs_of_all_kinds_when_they_take_turns_then_together_they_stay_in_the_budget(
    count: int,
) -> None:
    budget = ps.Budget("24MiB")
    made = [PIPELINES[name](48) for name in list(PIPELINES) * 3][:count]
    running = [ds.iterate(memory=budget, seed=1) for ds in made]
    totals = [0.0] * count
    while running:
        for number, it in enumerate(list(running)):
            batch = next(it, None)
            if batch is None:
                running.remove(it)
            else:
                totals[number % count] += len(batch)
    assert sum(totals) == 48 * count
    assert budget.peak <= budget.total
    assert (budget.runs, budget.held) == (0, 0)


def test_given_runs_in_threads_then_each_gets_its_whole_stream() -> None:
    budget = ps.Budget("16MiB")
    got: dict[int, int] = {}

    def consume(number: int) -> None:
        name = list(PIPELINES)[number % 4]
        with PIPELINES[name](32).iterate(memory=budget, seed=1) as it:
            got[number] = sum(int(batch[:, 0, 0, 0].sum()) for batch in it)

    threads = [threading.Thread(target=consume, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole, half = sum(range(32)), 2 * sum(range(16))
    assert got == {number: half if number % 4 == 2 else whole for number in range(8)}
    assert budget.peak <= budget.total


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_given_a_fork_while_the_lock_is_held_then_the_child_has_a_budget_of_its_own() -> None:
    budget = ps.Budget("16MiB")
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with budget._lock:
            held.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    with ps.Dataset.range(5).iterate(memory=budget) as it:
        next(it)
        thread.start()
        held.wait(10)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with ps.Dataset.range(5).iterate(memory=budget) as own:
                    status = 0 if len(list(own)) == 5 and budget.runs == 0 else 1
            finally:
                os._exit(status)
        done.set()
        thread.join()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert budget.runs == 1
