"""Batches of Penstock's that are kept, and what only looks like one."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.doctor.signals.penstock_lent import kept


@pytest.mark.parametrize("thing", [np.dtype("f4"), (np.dtype("i8"), 1), np.zeros(3)[1:], np.float64(1)])
def test_given_what_is_no_batch_then_it_is_none_and_that_is_said_at_once(thing: object) -> None:
    assert kept(thing, "") is None  # the base of a dtype is the dtype itself, for ever


def test_given_batches_that_were_computed_then_those_of_the_pool_are_lent() -> None:
    ds = ps.Dataset.from_tensor_slices(np.arange(40_000)).map(lambda x: x + 1).batch(10_000)
    kinds = [kept(batch, "") for batch in ds]  # how many come out of the pool hangs on how blocks grow
    assert set(kinds) <= {None, "penstock-lent"} and "penstock-lent" in kinds


def test_given_batches_that_are_views_of_the_users_array_then_nothing_is_lent() -> None:
    ds = ps.Dataset.from_tensor_slices(np.arange(40_000)).batch(10_000)
    assert [kept(batch, "") for batch in ds] == [None] * 4
