"""Runs whose elements are a large part of the budget: it holds all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same

SHAPE = (64, 128, 8)
ONE = 64 * 128 * 8 * 4


def pictures() -> Iterator[Any]:
    for i in range(24):
        yield np.full(SHAPE, i, np.float32), i % 3


def growing() -> Iterator[Any]:
    for i in range(24):
        yield np.full((4 * i + 2, 128, 4), i, np.float32), i


def failing() -> ps.Dataset:
    def refuse(x: Any, i: Any) -> Any:
        if i == 2:
            raise ValueError("no")
        return x, i

    return ps.Dataset.from_generator(pictures).map(refuse)


made = ps.Dataset.from_generator(pictures)
mapped = ps.Dataset.range(24).map(lambda i: np.full(SHAPE, i, np.float32))
grown = ps.Dataset.from_generator(growing)

PIPELINES: dict[str, Callable[[], ps.Dataset]] = {
    "a generator into a shuffle": lambda: made.shuffle(8, seed=1).batch(4),
    "a generator into a shuffle of bytes": lambda: made.shuffle("2MiB", seed=1).batch(4),
    "a shuffle of a shuffle": lambda: made.shuffle(8, seed=1).shuffle(3, seed=2).batch(4),
    "a shuffle ahead": lambda: made.shuffle(8, seed=1).batch(4).prefetch(2),
    "a cache into a shuffle": lambda: made.cache().shuffle(8, seed=1).batch(4),
    "a map and a cache into a shuffle": lambda: mapped.cache().shuffle(8, seed=1).batch(4),
    "datasets in turn into a shuffle": lambda: (
        ps.Dataset.range(3).interleave(lambda _: made.take(8), cycle_length=2).shuffle(5, seed=1).batch(4)
    ),
    "elements that grow": lambda: grown.shuffle(8, seed=1),
    "windows": lambda: made.window(4).flat_map(lambda x, i: ps.Dataset.zip(x, i)).batch(4),
    "groups": lambda: made.group_by_window(lambda _, i: i, lambda _, rows: rows.batch(4), window_size=4),
    "batches of another size": lambda: made.batch(4).rebatch(3),
    "elements of two datasets": lambda: ps.Dataset.sample_from_datasets([made, made], seed=3).batch(4),
    "elements by their classes": lambda: made.rejection_resample(
        lambda _, i: i, [0.2, 0.3, 0.5], seed=1
    ).batch(4),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_given_elements_that_hardly_fit_then_the_budget_holds_and_the_stream_is_the_same(name: str) -> None:
    ds = PIPELINES[name]()
    expected = drain(ds)
    ran = 0
    for elements in (5.1, 5.5, 6, 6.7, 7.5, 8.5, 9.5, 11):
        budget = int(elements * ONE)
        try:
            with ds.iterate(memory=budget, seed=7, epoch=0) as it:
                got = list(it)
        except ps.errors.BudgetError:
            assert not ran, "a larger budget fits too"
            continue
        ran += 1
        assert same(expected, got)
        assert it.report().peak <= budget, f"{elements} elements"
    assert ran > 1


def test_given_small_rows_in_a_small_budget_then_those_that_are_kept_for_a_window_stay_within_it() -> None:
    def rows() -> Iterator[Any]:
        for i in range(200):
            yield np.full((40, 120), i, np.float32), i

    ds = ps.Dataset.from_generator(rows).window(40).flat_map(lambda x, i: ps.Dataset.zip(x, i)).batch(40)
    budget = 43 * 40 * 120 * 4
    with ds.iterate(memory=budget) as it:
        assert sum(1 for _ in it) == 5
    assert it.report().peak <= budget


@pytest.mark.parametrize("size", [3, 8])
def test_given_a_failed_element_in_a_slot_when_room_is_short_then_it_costs_one_pull_and_no_other(
    size: int,
) -> None:
    got, errors = [], 0
    with failing().shuffle(size, seed=1).batch(1).iterate(memory=int(3.2 * ONE), seed=7) as it:
        while True:
            try:
                got += [int(label) for _, labels in [next(it)] for label in labels]
            except StopIteration:
                break
            except ps.errors.ElementError:
                errors += 1
        assert it.report().peak <= it.report().budget
    assert sorted(got) == sorted(i % 3 for i in range(24) if i % 3 != 2)
    assert errors == 8
