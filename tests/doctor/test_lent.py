"""Batches of Penstock's that are kept, and what only looks like one."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.doctor.signals.penstock_lent import kept


@pytest.mark.parametrize("thing", [np.dtype("f4"), (np.dtype("i8"), 1), np.zeros(3)[1:], np.float64(1)])
def test_given_what_is_no_batch_then_it_is_none_and_that_is_said_at_once(thing: object) -> None:
    assert kept(thing, "") is None  # the base of a dtype is the dtype itself, for ever


def test_given_a_batch_then_it_is_one() -> None:
    for batch in ps.Dataset.from_tensor_slices(np.arange(40_000)).batch(10_000):
        assert kept(batch, "") in ("penstock-lent", None)
