"""What a shuffle's slots hold after some draws, found from the last draw back: as if from the first on."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.holding import holding
from penstock.kernels.order import draws


def from_the_first(key: int, size: int, drawn: int) -> list[int]:
    held = list(range(size))
    for number, slot in enumerate(draws(key, 0, drawn, size).tolist()):
        held[slot] = size + number
    return held


@given(key=st.integers(0, 1 << 63), size=st.integers(1, 300), drawn=st.integers(0, 3000))
def test_given_any_number_of_draws_then_it_is_what_making_all_of_them_gives(
    key: int, size: int, drawn: int
) -> None:
    assert holding(key, size, drawn).tolist() == from_the_first(key, size, drawn)


def test_given_many_draws_then_only_the_last_ones_are_made() -> None:
    far = holding(7, 50, 1 << 50)
    assert len(np.unique(far)) == 50
    assert far.min() > (1 << 50) - 5000
