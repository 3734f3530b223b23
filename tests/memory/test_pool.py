"""The pool of buffers."""

from __future__ import annotations

import numpy as np

from penstock.memory.ledger import Ledger
from penstock.memory.pool import SMALLEST, Pool

SIZE = 4 * SMALLEST


def address(array: object) -> int:
    return int(np.asarray(array).__array_interface__["data"][0])


def test_when_a_buffer_is_dropped_then_the_next_array_of_its_size_gets_it() -> None:
    ledger = Ledger(64 << 20)
    pool = Pool(ledger)
    account = ledger.account("map")
    first = pool.empty(account, (SIZE // 8,), np.int64)
    place = address(first)
    assert account.held == SIZE
    view = first[10:20]
    del first
    other = pool.empty(account, (SIZE,), np.uint8)
    assert address(other) != place, "a view of the first was still alive"
    del view, other
    ledger.settle()
    assert ledger.account("pool").held == 2 * SIZE
    again = {address(pool.empty(account, (SIZE // 4,), np.float32)) for _ in range(5)}
    assert len(again) == 1


def test_given_an_idle_buffer_that_is_somewhat_larger_then_it_is_used_where_the_budget_is_not_short() -> None:
    ledger = Ledger(64 << 20)
    pool = Pool(ledger)
    account = ledger.account("map")
    place = address(pool.empty(account, (SIZE,), np.uint8))
    smaller = pool.empty(account, (SIZE * 3 // 4,), np.uint8)
    assert address(smaller) == place
    assert len(smaller) == SIZE * 3 // 4
    assert account.held == SIZE  # all of it is taken, so all of it counts
    del smaller
    ledger.settle()
    assert account.held == 0 and ledger.account("pool").held == SIZE
    for wanted in (SIZE + 1, SIZE // 2 - 4096):  # too small, and far too large
        assert address(pool.empty(account, (wanted,), np.uint8)) != place
    ledger.account("shuffle").require(ledger.budget // 2, "")
    assert address(pool.empty(account, (SIZE * 3 // 4,), np.uint8)) != place


def test_given_small_arrays_then_numpy_makes_them() -> None:
    ledger = Ledger(64 << 20)
    array = Pool(ledger).empty(ledger.account("map"), (10,), np.int64)
    assert array.base is None


def test_when_the_budget_is_short_then_idle_buffers_go_first() -> None:
    ledger = Ledger(SIZE * 16)
    pool = Pool(ledger)
    pair = [pool.empty(ledger.account("map"), (SIZE,), np.uint8) for _ in range(2)]
    del pair
    ledger.settle()
    assert ledger.account("pool").held == 2 * SIZE
    assert ledger.account("shuffle").request(SIZE * 14)
    ledger.account("batch").require(2 * SIZE, "")
    assert ledger.account("pool").held == 0
    assert ledger.held == ledger.budget


def test_when_closed_then_idle_buffers_are_gone_and_lent_arrays_stay_whole() -> None:
    ledger = Ledger(64 << 20)
    pool = Pool(ledger)
    account = ledger.account("map")
    kept = pool.empty(account, (SIZE,), np.uint8)
    kept[:] = 7
    gone = pool.empty(account, (SIZE,), np.uint8)
    del gone
    pool.close()
    assert ledger.account("pool").held == 0
    assert kept.min() == kept.max() == 7
    del kept
    ledger.settle()
    assert ledger.held == 0
