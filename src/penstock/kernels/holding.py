"""What the slots of a shuffle hold after a number of draws, without making all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.order import draws


def holding(key: int, size: int, drawn: int) -> NDArray[np.int64]:
    """For each of `size` slots the number of the input that it holds, after so many draws.

    It is found from the last draw back, until every slot has been met: that takes about as many draws as
    there are slots, times the logarithm of that, however many there were before.
    """
    inputs = np.full(size, -1, np.int64)
    left, at, step = size, drawn, max(4 * size, 1024)
    while left and at:
        first = max(0, at - step)
        slots = draws(key, first, at - first, size)
        met, place = np.unique(slots[::-1], return_index=True)
        fresh = inputs[met] < 0
        inputs[met[fresh]] = size + at - 1 - place[fresh]
        left -= int(fresh.sum())
        at = first
    never = np.flatnonzero(inputs < 0)
    inputs[never] = never
    return inputs
