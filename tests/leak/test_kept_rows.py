"""What keeps rows stays in the budget, and gives the memory back: seen from outside."""

from __future__ import annotations

import pytest

from leak.measured import MIB, measure

SLACK = 24
"""MiB that the interpreter, the C library and the element in the user's hand may take."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count", "budget", "epochs"),
    [
        ("shuffle megabytes", 600, 16, 1),
        ("cache megabytes", 600, 16, 2),
        ("shuffle images", 600, 64, 1),
        ("cache images", 300, 64, 2),
        ("cache and shuffle images", 400, 64, 2),
        ("shuffle and batch images", 700, 64, 1),
        ("prefetch after shuffle", 600, 64, 1),
        ("shuffle records", 4000, 16, 1),
    ],
)
def test_given_a_budget_then_the_process_stays_in_it_and_gives_it_back(
    name: str, count: int, budget: int, epochs: int
) -> None:
    figures = measure(name, count, budget * MIB, epochs)
    assert figures["peak"] <= budget * 1.1 + SLACK, figures
    assert figures["after"] <= SLACK, figures
    assert figures["ledger"] <= budget, figures
