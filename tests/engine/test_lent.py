"""Elements that the user keeps alive."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import penstock as ps


def big_batches() -> ps.Dataset:
    return ps.Dataset.range(300).map(lambda i: np.full(1 << 18, i, np.uint8))


def test_when_an_element_is_handed_over_then_it_leaves_the_budget_until_it_is_dropped() -> None:
    with big_batches().iterate(memory="16MiB", seed=1) as it:
        element = next(it)
        report = it.report()
        assert report.lent_bytes >= element.nbytes
        assert report.held == 0
        del element
        # The block is also the iterator's until the next one is asked for; then it is nobody's.
        again = next(it)
        assert it.report().lent_bytes <= again.nbytes + it._run.plan.block_bytes


def test_when_300_elements_are_kept_then_the_user_is_told_how_many_and_by_whom() -> None:
    kept = []
    with (
        pytest.warns(ps.errors.LentWarning, match=r"elements .* MiB, kept by `kept`, a list of \d+"),
        big_batches().iterate(memory="16MiB") as it,
    ):
        for element in it:
            kept.append(element)  # noqa: PERF402
        report = it.report()
    assert report.lent_elements == 300
    assert report.lent_bytes >= 300 << 18
    assert any("`kept`, a list of 300" in holder for holder in report.holders)


def test_when_elements_are_dropped_then_nobody_is_told() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with big_batches().iterate(memory="16MiB") as it:
            total = sum(int(element[0]) for element in it)
    assert total == sum(i % 256 for i in range(300))
    assert it.report().lent_elements == 0


def test_when_the_report_has_looked_for_holders_then_it_keeps_nothing_alive_itself() -> None:
    kept = list(ps.Dataset.range(3))
    with big_batches().take(40).iterate(memory="64MiB") as it:
        kept = list(it)
        assert it.report().holders
    del kept
    assert it.report().lent_bytes == 0
