"""Elements that the user keeps alive."""

from __future__ import annotations

import gc
import warnings
from typing import Any

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


class Keeper:
    def __init__(self) -> None:
        self.batches: dict[int, Any] = {}


def test_given_a_dict_of_tuples_in_an_attribute_then_it_is_named_and_the_heap_is_read_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []

    def counted(*objects: Any) -> list[Any]:
        calls.append(len(objects))
        return referrers(*objects)

    referrers = gc.get_referrers
    monkeypatch.setattr(gc, "get_referrers", counted)
    keeper, local = Keeper(), {}
    with pytest.warns(ps.errors.LentWarning) as told, big_batches().iterate(memory="16MiB") as it:
        for i, element in enumerate(it):
            keeper.batches[i] = [(element, i)]
            local[i] = (element, i)
        calls.clear()
        held = it.report().holders
    assert any("`Keeper.batches`, a dict of 300" in holder for holder in held)
    assert any("`local`, a dict of 300 in test_given" in holder for holder in held)
    assert len(calls) <= 4
    assert max(calls) <= 64
    assert [warning.filename for warning in told] == [__file__]


def test_given_a_tuple_that_is_just_being_made_then_looking_for_holders_does_not_crash() -> None:
    ds = ps.Dataset.range(4000).batch(1)
    with ds.iterate() as it:
        kept = [next(it) for _ in range(400)]

        def looked() -> Any:
            for i in range(20):  # `tuple` has made room for some that are not there yet
                yield it.report() if i == 15 else i

        made = tuple(looked())
    assert len(made) == 20 and len(kept) == 400
