"""Who gets room on the ledger, and who gives way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.structure import LEAF, structure_of
from penstock.memory.account import Account, fewer
from penstock.memory.ledger import Ledger
from penstock.memory.pool import SMALLEST, Pool


def block_of(array: Any) -> Block:
    return Block(LEAF, [DenseColumn(array)], len(array))


def one_row(size: int) -> Block:
    return block_of(np.zeros((1, size), np.uint8))


class Keeper:
    """Gives back reserved bytes when it is asked, as far as it has them."""

    def __init__(self, account: Account, size: int) -> None:
        self.account = account
        self.asked: list[int] = []
        assert account.request(size)
        account.ledger.keepers.append(self)

    def __call__(self, size: int) -> None:
        self.asked.append(size)
        self.account.release(min(size, self.account.reserved))


def test_given_idle_buffers_then_a_request_makes_them_go() -> None:
    ledger = Ledger(16 * SMALLEST)
    pool = Pool(ledger)
    pair = [pool.empty(ledger.account("map"), SMALLEST, np.uint8) for _ in range(2)]
    del pair
    ledger.settle()
    assert ledger.held == 2 * SMALLEST
    assert ledger.account("shuffle").request(14 * SMALLEST)
    ledger.account("map").flight_peak = 0
    assert ledger.account("shuffle").request(2 * SMALLEST)
    assert ledger.held == ledger.budget


def test_when_more_is_required_then_it_must_fit_beside_what_was_before() -> None:
    account = Ledger(100).account("scan")
    account.require(60, "")
    with pytest.raises(ps.errors.BudgetError, match="scan needs 101 B at once"):
        account.require(41, "")
    account.require(40, "")
    assert account.held == 100


def test_when_an_element_is_needed_then_what_is_reserved_gives_way() -> None:
    ledger = Ledger(100)
    first = Keeper(ledger.account("shuffle"), 50)
    second = Keeper(ledger.account("cache"), 30)
    ledger.account("batch").need(45, "")
    assert (first.asked, second.asked) == ([25], []), "and no more than is needed"
    assert ledger.held == 55


def test_given_a_keeper_that_has_too_little_then_the_next_one_is_asked_for_the_rest() -> None:
    ledger = Ledger(100)
    first = Keeper(ledger.account("shuffle"), 10)
    second = Keeper(ledger.account("cache"), 80)
    ledger.account("batch").need(40, "")
    assert (first.asked, second.asked) == ([30], [20])


def test_when_a_larger_element_has_been_made_then_what_is_reserved_gives_way() -> None:
    ledger = Ledger(1000)
    keeper = Keeper(ledger.account("shuffle"), 900)
    block = one_row(300)
    ledger.account("map").adopt(block)
    assert sum(keeper.asked) >= 200
    assert ledger.held <= 1000


def test_given_what_is_expected_then_a_request_leaves_the_most_of_it() -> None:
    ledger = Ledger(100)
    ledger.account("map").expect(60)
    ledger.account("map").expect(10)
    account = ledger.account("shuffle")
    assert not account.request(41)
    assert account.request(40)


def test_given_what_was_in_flight_before_then_a_request_leaves_room_for_as_much() -> None:
    ledger = Ledger(100)
    ledger.account("map").adopt(block_of(np.zeros(60, np.uint8)))
    ledger.settle()
    assert ledger.held == 0
    account = ledger.account("shuffle")
    assert not account.request(41)
    assert account.request(40)


def test_when_more_is_expected_than_before_then_so_much_is_to_be_given_back() -> None:
    ledger = Ledger(100)
    account, other = ledger.account("shuffle"), ledger.account("map")
    assert account.request(80)
    assert account.over() == 0
    other.expect(50)
    assert account.over() == 30
    other.expect(500)
    assert account.over() == 80, "and never more than is reserved"


def test_given_a_number_that_does_not_fit_then_the_remedy_says_which_would() -> None:
    ledger = Ledger(100)
    ledger.account("map").need(30, "")
    with pytest.raises(ps.errors.BudgetError, match="A batch_size of at most 7 fits"):
        ledger.account("batch").need(80, fewer("batch_size", 10))
    with pytest.raises(ps.errors.BudgetError, match="Not even one of 71 B fits"):
        ledger.account("batch").need(80, fewer("batch_size", 71))


def test_given_a_few_rows_of_a_large_buffer_then_the_element_is_what_is_seen_of_it() -> None:
    account = Ledger(1000).account("map")
    account.adopt(block_of(np.zeros(5000, np.uint8)[:10]))
    assert account.floor == 1


def test_given_a_lent_block_then_no_queue_takes_it_over() -> None:
    ledger = Ledger(1000)
    block = block_of(np.zeros(100, np.uint8))
    ledger.account("map").adopt(block)
    ledger.lend(block)
    ledger.account("prefetch").take_over(block)
    assert (ledger.held, ledger.account("map").held, ledger.account("prefetch").held) == (0, 0, 0)
    del block
    ledger.settle()
    assert (ledger.held, ledger.lent, ledger.lent_peak) == (0, 0, 100)


def test_given_elements_of_several_leaves_then_each_is_lent_once() -> None:
    ledger = Ledger(1000)
    columns = [DenseColumn(np.zeros(10, np.uint8)) for _ in range(3)]
    block = Block(structure_of((1, 2, 3)), columns, 10)
    ledger.account("map").adopt(block)
    ledger.lend(block)
    assert (ledger.lent, ledger.lent_elements) == (30, 10)


def test_given_what_another_op_needs_for_an_element_then_it_is_free_until_it_holds_that() -> None:
    ledger = Ledger(100)
    batch, prefetch = ledger.account("batch"), ledger.account("prefetch")
    batch.need(30, "")
    assert ledger.room(prefetch) == 70
    block = block_of(np.zeros(20, np.uint8))
    batch.adopt(block)
    assert ledger.room(prefetch) == 70, "10 of the 30 are still to come"


def test_given_objects_then_what_they_refer_to_counts() -> None:
    array = np.empty(2, object)
    array[0], array[1] = bytes(1000), bytes(3000)
    ledger = Ledger(1 << 20)
    ledger.account("map").adopt(block_of(array))
    assert 4000 < ledger.held < 4500


def test_when_a_buffer_comes_then_idle_ones_go_before_it_is_counted() -> None:
    ledger = Ledger(16 * SMALLEST)
    pool = Pool(ledger)
    pair = [pool.empty(ledger.account("map"), SMALLEST, np.uint8) for _ in range(2)]
    del pair
    ledger.settle()
    block = one_row(15 * SMALLEST)
    ledger.account("map").adopt(block)
    assert ledger.peak == ledger.held == 16 * SMALLEST


def test_given_rows_that_a_store_keeps_then_they_are_not_the_users_alone() -> None:
    ledger = Ledger(1000)
    account = ledger.account("cache")
    kept, lent = block_of(np.zeros(100, np.uint8)), block_of(np.zeros(50, np.uint8))
    assert account.request(100)
    account.keep(kept)
    account.adopt(lent)
    ledger.lend(kept)
    ledger.lend(lent)
    assert [array.nbytes for array in ledger.lent_arrays()] == [50]


def test_given_an_account_that_holds_more_than_an_element_then_nothing_more_is_left_free_for_it() -> None:
    ledger = Ledger(100)
    batch = ledger.account("batch")
    batch.need(30, "")
    block = block_of(np.zeros(50, np.uint8))
    batch.adopt(block)
    assert ledger.room(ledger.account("prefetch")) == 50


def test_when_room_is_made_then_no_more_is_asked_for_than_is_reserved() -> None:
    ledger = Ledger(100)
    keeper = Keeper(ledger.account("shuffle"), 10)
    ledger.make_room(500)
    assert keeper.asked == [10]
