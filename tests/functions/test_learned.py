"""What one run has found out about a function, and the next one starts from."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.functions import row_function
from penstock.functions.plain_rows import PlainRows


@pytest.fixture
def plain_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each plain call was made with."""
    made: list[int] = []
    apply = PlainRows.apply

    def noted(self: PlainRows, block: Any, *args: Any) -> Any:
        made.append(block.rows)
        return apply(self, block, *args)

    monkeypatch.setattr(PlainRows, "apply", noted)
    return made


def test_given_a_second_run_then_one_row_is_compared_and_not_all_of_them_again(
    plain_calls: list[int],
) -> None:
    ds = ps.Dataset.range(1000).map(lambda x: x * 2)
    list(ds)
    assert sum(plain_calls) == 4 + 8  # 0 to 3, and 4, 8, ... 512
    plain_calls.clear()
    assert [int(x) for x in ds] == list(range(0, 2000, 2))
    assert sum(plain_calls) == 1


def test_given_rows_beyond_those_of_the_first_run_then_they_are_compared(plain_calls: list[int]) -> None:
    ds = ps.Dataset.range(1000).map(lambda x: x * 2)
    with ds.iterate() as it:
        for _, _ in zip(range(100), it, strict=False):
            pass
    plain_calls.clear()
    list(ds)
    assert sum(plain_calls) <= 1 + 5  # one, and at most 32, 64, 128, 256 and 512


def test_given_a_function_that_differs_over_a_block_then_a_later_run_looks_at_all_of_it_again(
    monkeypatch: pytest.MonkeyPatch, plain_calls: list[int]
) -> None:
    same = row_function.same_leaf
    monkeypatch.setattr(row_function, "same_leaf", lambda a, b: bool(a != 64) and same(a, b))
    ds = ps.Dataset.range(500).map(lambda x: x + 0)
    list(ds)
    assert sum(plain_calls) > 400, "from there on, row by row"
    monkeypatch.setattr(row_function, "same_leaf", same)
    plain_calls.clear()
    list(ds)
    assert sum(plain_calls) == 4 + 7  # 0 to 3, and 4, 8, ... 256


def test_given_results_that_have_become_larger_then_the_next_run_finds_out_with_one_row() -> None:
    size = 8

    def grown(x: Any) -> Any:
        return np.zeros(size, np.uint8) + x

    ds = ps.Dataset.range(4000).map(grown).map(lambda x: x.sum())
    list(ds)
    size = 1 << 16
    with ds.iterate(memory="4MiB") as it:
        assert len(list(it)) == 4000
    assert it.report().peak < 4 << 20


def test_when_pickled_after_a_run_then_nothing_of_it_goes_along() -> None:
    ds = ps.Dataset.range(9).map(np.negative)
    list(ds)
    assert "learned" in ds.op.__dict__
    assert b"Learned" not in pickle.dumps(ds)


def test_given_maps_that_are_made_one_or_not_then_each_way_is_compared_by_itself(
    plain_calls: list[int],
) -> None:
    ds = ps.Dataset.range(10).map(lambda x: x + 1).map(lambda x: x * np.int64(3))
    list(ds)
    plain_calls.clear()
    assert [int(x) for x in ds.with_options(ps.Options(optimize=False))] == list(range(3, 33, 3))
    assert sum(plain_calls) == 2 * (4 + 2)
