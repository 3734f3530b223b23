"""Who keeps an object."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.doctor.places import Places
from penstock.doctor.referrers import chain_of

KEPT: list[Any] = []


class Pixels(np.ndarray):
    """An array that the collector knows, as one over a file is."""


def test_given_an_array_that_is_kept_in_tuples_then_it_is_not_asked_whether_it_is_equal() -> None:
    pixels = np.zeros(3).view(Pixels)
    KEPT.extend([[pixels], (pixels, "a"), {"of": pixels}, (pixels, "b")])
    del pixels
    try:
        chain = chain_of(KEPT[0][0], Places(__file__))
    finally:
        KEPT.clear()
    assert chain[-1] == "Pixels"
