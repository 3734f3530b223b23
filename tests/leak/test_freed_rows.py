"""Large arrays that users' code makes and drops: the process stays in its budget, and gives them back."""

from __future__ import annotations

import pytest

from leak.measured import MIB, measure

SLACK = 24
"""MiB that the interpreter, the C library and the element in the user's hand may take."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count", "budget"),
    [
        ("shuffle batches of bytes", 1000, 64),
        ("large arrays", 20, 64),
        ("interleave made", 60, 40),
        ("parallel map", 150, 32),
    ],
)
def test_given_a_budget_then_the_process_stays_in_it_and_gives_it_back(
    name: str, count: int, budget: int
) -> None:
    figures = measure(name, count, budget * MIB, 1)
    assert figures["peak"] <= budget * 1.1 + SLACK, figures
    assert figures["after"] <= SLACK, figures
    assert figures["ledger"] <= budget, figures
