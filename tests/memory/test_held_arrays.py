"""Arrays on the ledger for as long as an op has them open, and the user's own, which are not on it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.structure import LEAF
from penstock.memory.ledger import Ledger


def block_of(array: Any) -> Block:
    return Block(LEAF, [DenseColumn(array)], len(array))


def test_given_a_held_array_when_rows_of_it_are_lent_then_its_bytes_stay_in_the_budget() -> None:
    ledger = Ledger(1000)
    account = ledger.account("interleave")
    array = np.zeros(300, np.uint8)
    size = account.hold(array, "")
    assert (size, ledger.held, account.pinned) == (300, 300, 300)
    block = block_of(array[:10])
    account.adopt(block)
    ledger.lend(block)
    assert (ledger.held, ledger.lent) == (300, 0)
    account.let_go(array, size)
    assert (ledger.held, ledger.lent, account.pinned) == (0, 300, 0), "the user still has rows of it"
    del block, array
    ledger.settle()
    assert (ledger.held, ledger.lent, ledger.lent_elements) == (0, 0, 0)


def test_given_an_array_that_is_lent_when_it_is_held_again_then_it_is_back_in_the_budget() -> None:
    ledger = Ledger(1000)
    account = ledger.account("interleave")
    array = np.zeros(300, np.uint8)
    block = block_of(array)
    account.adopt(block)
    ledger.lend(block)
    assert (ledger.held, ledger.lent, ledger.lent_elements) == (0, 300, 300)
    size = account.hold(array, "")
    assert (ledger.held, ledger.lent, ledger.lent_elements) == (300, 0, 0)
    account.let_go(array, size)
    assert (ledger.held, ledger.lent, ledger.lent_elements) == (0, 300, 300)


def test_given_an_array_that_is_held_when_it_is_held_again_then_it_counts_once() -> None:
    ledger = Ledger(1000)
    account = ledger.account("interleave")
    array = np.zeros(300, np.uint8)
    assert [account.hold(array, ""), account.hold(array[5:], "")] == [300, 0]
    assert ledger.held == 300


def test_given_held_arrays_then_what_other_ops_need_must_fit_beside_them() -> None:
    ledger = Ledger(1000)
    ledger.account("interleave").hold(np.zeros(300, np.uint8), "")
    batch = ledger.account("batch")
    batch.need(700, "")
    with pytest.raises(ps.errors.BudgetError, match="beside the 300 B of the other ops"):
        batch.need(701, "")


def test_given_held_arrays_then_what_the_op_itself_needs_must_fit_beside_them() -> None:
    ledger = Ledger(1000)
    account = ledger.account("interleave")
    account.hold(np.zeros(300, np.uint8), "")
    account.need(700, "")
    with pytest.raises(ps.errors.BudgetError, match="needs 1001 B at once, but"):
        account.need(701, "")
    with pytest.raises(ps.errors.BudgetError, match="needs 1001 B at once, but"):
        account.hold(np.zeros(1, np.uint8), "")


def test_given_an_array_that_does_not_fit_then_it_is_not_held() -> None:
    ledger = Ledger(1000)
    ledger.account("batch").need(701, "")
    account = ledger.account("interleave")
    with pytest.raises(ps.errors.BudgetError, match="Return less"):
        account.hold(np.zeros(300, np.uint8), "Return less.")
    assert (ledger.held, account.pinned) == (0, 0)


def test_when_the_users_own_array_has_died_then_another_at_its_place_counts() -> None:
    ledger = Ledger(1 << 30)
    account = ledger.account("map")
    for _ in range(50):  # NumPy soon makes an array where the last one was
        own = np.zeros(100, np.uint8)
        ledger.foreign(own)
        del own
        made = np.zeros(100, np.uint8)
        account.adopt(block_of(made))
        assert ledger.held == 100
        del made
        ledger.settle()


def test_given_a_buffer_of_the_run_when_a_dataset_is_made_of_it_then_what_comes_after_it_counts() -> None:
    ledger = Ledger(1000)
    account = ledger.account("map")
    block = block_of(np.zeros(100, np.uint8))
    account.adopt(block)
    ledger.foreign(block.buffers()[0][10:20])
    del block
    again = block_of(np.zeros(100, np.uint8))
    account.adopt(again)
    ledger.settle()
    assert ledger.held == 100


def test_given_rows_of_a_large_buffer_then_what_is_behind_them_is_all_of_it_but_for_the_users_own() -> None:
    ledger = Ledger(1 << 20)
    large, own = np.zeros(5000, np.uint8), np.zeros(7000, np.uint8)
    ledger.foreign(own)
    part = Block(LEAF, [DenseColumn(large[:10]), DenseColumn(large[10:20]), DenseColumn(own[:10])], 10)
    ledger.account("map").adopt(part)
    assert ledger.behind(part) == 5000


def test_given_a_most_for_this_thread_then_an_array_above_it_is_never_held() -> None:
    ledger = Ledger(1000)
    account = ledger.account("interleave")
    account.hold(np.zeros(100, np.uint8), "")
    refused: list[BaseException] = []

    def ahead() -> None:
        with account.holding_at_most(250):
            account.hold(np.zeros(150, np.uint8), "")
            try:
                account.hold(np.zeros(1, np.uint8), "")
            except ps.errors.BudgetError as error:
                refused.append(error)

    with account.holding_at_most(300), account.holding_at_most(1000):
        thread = threading.Thread(target=ahead)
        thread.start()
        thread.join()
        assert len(refused) == 1
        assert (ledger.peak, account.pinned) == (250, 250)
        account.hold(np.zeros(50, np.uint8), "")
        with pytest.raises(ps.errors.BudgetError, match="interleave: an array of 1 B beside 300 B"):
            account.hold(np.zeros(1, np.uint8), "")
    account.hold(np.zeros(700, np.uint8), "")
    assert account.pinned == 1000
