"""The slots of a shuffle, one draw after another, without the GIL."""

from __future__ import annotations

import numpy as np
from numba import njit

from penstock.kernels.bits import _ONE, _STEP, _TWO

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@njit(inline="always")
def _finish(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_ONE)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_TWO)
    return z ^ (z >> np.uint64(31))


@njit("int64(uint64, uint64, int64, int64, int64[::1], int64[::1], int64[::1])", nogil=True, cache=True)
def exchange(key, mixed, start, size, sources, slots, last):  # type: ignore[no-untyped-def]
    """As `order.exchange` says, with the keys of `bits`. Fills the arrays, and says how many stay."""
    drawn = np.full(size, -1, np.int64)
    bound = np.uint64(size)
    count = len(sources)
    for i in range(count):
        random = _finish(_finish(np.uint64(start + i) * np.uint64(_STEP) + key) + mixed)
        low = ((random & _LOW) * bound) >> _HALF
        slot = np.int64(((random >> _HALF) * bound + low) >> _HALF)
        earlier = drawn[slot]
        sources[i] = slot if earlier < 0 else -1 - earlier
        slots[i] = slot
        drawn[slot] = i
    found = 0
    for i in range(count):
        if drawn[slots[i]] == i:
            slots[found] = slots[i]
            last[found] = i
            found += 1
    return found


def load() -> None:
    """Have it compiled, or read from Numba's cache: its signature does that."""
