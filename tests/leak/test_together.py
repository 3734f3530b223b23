"""The budget as seen from outside: a hundred runs that share it, elements that grow, a loop that stalls."""

from __future__ import annotations

import pytest

from leak.together import GROWING, LARGE, SMALL, measure

MIB = 1 << 20
SLACK = 24


def bound(mebibytes: int) -> float:
    return mebibytes * 1.1 + SLACK


@pytest.mark.slow
def test_given_a_hundred_pipelines_with_one_budget_then_together_they_stay_in_it() -> None:
    figures = measure("hundred", 100, 64 * MIB)
    assert figures["elements"] == 100 * 40 + 25 * 40, "a quarter of them goes over its rows twice"
    assert figures["budget"] <= 64
    assert figures["peak"] <= bound(64)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "times"), [("map", 1), ("generator", 1), ("interleave", 2)])
def test_given_elements_that_grow_from_1_kib_to_4_mib_then_the_budget_holds(name: str, times: int) -> None:
    figures = measure(name, 1, 64 * MIB)
    assert figures["elements"] == times * (SMALL + GROWING + LARGE)
    assert figures["budget"] <= 64
    assert figures["peak"] <= bound(64)
