"""The ledger: who holds how many bytes."""

from __future__ import annotations

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


def test_given_a_budget_then_requests_are_granted_up_to_it_and_then_refused() -> None:
    ledger = Ledger(100)
    account = ledger.account("shuffle")
    assert account.request(60)
    assert not account.request(41)
    assert account.request(40)
    account.release(100)
    assert (ledger.held, account.held, account.peak) == (0, 0, 100)


def test_given_the_floor_of_another_op_then_a_request_leaves_room_for_it() -> None:
    ledger = Ledger(100)
    ledger.account("batch").need(30, "Use a smaller batch.")
    account = ledger.account("cache")
    assert not account.request(71)
    assert account.request(70)


def test_given_an_element_that_cannot_fit_then_the_error_names_op_size_budget_and_remedy() -> None:
    ledger = Ledger(1 << 20)
    ledger.account("map").need(1 << 19, "")
    with pytest.raises(ps.errors.BudgetError) as caught:
        ledger.account("batch").need(1 << 20, "Use a smaller batch.")
    said = str(caught.value)
    for word in ("batch needs 1 MiB", "512 KiB", "budget is 1 MiB", "smaller batch", "iterate(memory="):
        assert word in said


def test_when_a_block_is_adopted_then_it_counts_until_its_last_view_is_dropped() -> None:
    ledger = Ledger(1000)
    account = ledger.account("map")
    block = block_of(np.zeros(100, np.uint8))
    account.adopt(block)
    account.adopt(block.slice(0, 10))
    assert ledger.held == 100
    view = block.columns[0].item(3)
    part = block.slice(5, 7)
    del block
    ledger.settle()
    assert ledger.held == 100
    del part, view
    ledger.settle()
    assert ledger.held == 0


def test_given_the_users_own_array_then_its_views_count_for_nothing() -> None:
    ledger = Ledger(1000)
    data = np.zeros(100, np.uint8)
    ledger.foreign(data)
    ledger.account("from_tensor_slices").adopt(block_of(data[3:50]))
    assert ledger.held == 0


def test_when_a_block_is_lent_then_it_leaves_the_budget_but_stays_on_the_ledger() -> None:
    ledger = Ledger(1000)
    account = ledger.account("map")
    block = block_of(np.zeros(100, np.uint8))
    account.adopt(block)
    ledger.lend(block)
    assert (ledger.held, ledger.lent, ledger.lent_elements) == (0, 100, 100)
    del block
    ledger.settle()
    assert (ledger.held, ledger.lent, ledger.lent_elements) == (0, 0, 0)
    assert account.held == 0


def test_when_a_queue_takes_a_block_over_then_it_is_the_queues() -> None:
    ledger = Ledger(1000)
    block = block_of(np.zeros(100, np.uint8))
    ledger.account("map").adopt(block)
    ledger.account("prefetch").take_over(block)
    assert ledger.account("map").held == 0
    assert ledger.account("prefetch").held == 100
    assert ledger.held == 100


def test_given_a_claim_then_nobody_else_is_promised_the_same_room() -> None:
    ledger = Ledger(100)
    one, other = ledger.account("prefetch"), ledger.account("prefetch_2")
    assert ledger.claim(one, 60)
    assert ledger.held == 0
    assert not ledger.claim(other, 41)
    assert ledger.claim(other, 40)
    ledger.unclaim(60)
    assert ledger.room(other) == 60
