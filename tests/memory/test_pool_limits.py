"""How much the pool keeps, and what it leaves to NumPy."""

from __future__ import annotations

import numpy as np

from penstock.memory.ledger import Ledger
from penstock.memory.pool import SMALLEST, Pool


def test_when_buffers_are_dropped_then_at_most_an_eighth_of_the_budget_stays_idle() -> None:
    ledger = Ledger(32 * SMALLEST)
    pool = Pool(ledger)
    arrays = [pool.empty(ledger.account("map"), SMALLEST, np.uint8) for _ in range(10)]
    del arrays
    ledger.settle()
    assert ledger.account("pool").held == 4 * SMALLEST


def test_given_references_then_numpy_makes_the_array() -> None:
    ledger = Ledger(64 << 20)
    array = Pool(ledger).empty(ledger.account("map"), SMALLEST, object)
    assert array.base is None


def test_when_the_pool_is_closed_then_numpy_makes_the_arrays() -> None:
    ledger = Ledger(64 << 20)
    pool = Pool(ledger)
    pool.close()
    assert pool.empty(ledger.account("map"), SMALLEST, np.uint8).base is None
