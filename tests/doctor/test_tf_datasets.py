"""How many datasets are behind one."""

from __future__ import annotations

import pytest

from penstock.doctor.paths import measured
from penstock.doctor.signals import history_of
from penstock.doctor.walk import Node

tf = pytest.importorskip("tensorflow")


def test_given_a_dataset_that_is_made_from_itself_then_all_behind_it_count() -> None:
    ds = tf.data.Dataset.range(4)
    first = history_of(ds)
    for _ in range(5):
        ds = ds.concatenate(tf.data.Dataset.range(1)).take(3)
    assert first == 1 and history_of(ds) == 1 + 3 * 5
    key, value = measured(Node(ds, 7, None, "ds", 0))
    assert (key, value) == ("history 7", 16.0)


def test_given_what_is_no_dataset_then_it_has_no_history() -> None:
    assert history_of(tf.data.Options()) is None
    assert history_of(tf.data.Dataset) is None
    assert history_of(tf.constant(1)) is None
