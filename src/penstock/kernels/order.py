"""The order of a shuffle: a pure function of a key, the size of the buffer and the count of inputs.

The buffer's slots are filled in order. Then every input draws a slot, whose content comes out, and
takes its place. At the end the slots drain in the order of a permutation. So a shuffle whose buffer
holds all rows is that permutation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import loading
from penstock.kernels.bits import below, bits, counters, mix

Index = NDArray[np.int64]

SORTED = 1 << 16
"""Permutations up to this size are sorted; larger ones are computed entry by entry."""
LARGEST_TABLE = 1 << 16
"""Slots of which the compiled kernel keeps a table."""
_DRAIN = 0xD7A1
_ROUNDS = 6
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_AGAIN = np.uint64(0xD6E8FEB86659FD93)


def exchange(key: int, start: int, count: int, size: int) -> tuple[Index, Index, Index]:
    """What comes of `count` inputs that draw slots, of `size`, from draw number `start` on.

    For each of them where its output comes from: a slot, or -1 - i for input i. Then the slots that were
    drawn, and the inputs that stay in them.
    """
    if loading.ready() and size <= LARGEST_TABLE:
        return _exchange_compiled(key, start, count, size)
    slots = draws(key, start, count, size)
    earlier, last = chain(slots, size)
    return np.where(earlier < 0, slots, -1 - earlier), slots[last], last


def _exchange_compiled(key: int, start: int, count: int, size: int) -> tuple[Index, Index, Index]:
    from penstock.kernels.compiled import order

    sources, slots, last = np.empty((3, count), np.int64)
    found = order.exchange(key, mix(key), start, size, sources, slots, last)
    return sources, slots[:found], last[:found]


def draws(key: int, start: int, count: int, size: int) -> Index:
    """The slots, of `size`, that the outputs from number `start` on draw."""
    return below(bits(key, counters(start, count)), size)


def chain(slots: Index, size: int) -> tuple[Index, Index]:
    """How draws of the same slot, of `size`, follow one another.

    The first array says for each draw which earlier one drew the same slot last, or -1. The second
    names, in order, the draws whose slot is not drawn again.
    """
    count = len(slots)
    # Small whole numbers are sorted by radix, several times as fast.
    narrow = slots.astype(np.uint16) if size <= 1 << 16 else slots
    order = np.argsort(narrow, kind="stable")
    ordered = narrow[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    drawn = order[again]
    earlier = np.full(count, -1, np.int64)
    earlier[order[again + 1]] = drawn
    last = np.ones(count, bool)
    last[drawn] = False
    return earlier, np.flatnonzero(last)


class Drain:
    """The order in which `size` slots drain."""

    def __init__(self, key: int, size: int) -> None:
        self.size = size
        self._key = mix(key, _DRAIN)
        self._sorted: NDArray[np.int32] | None = None
        if size <= SORTED:
            random = bits(self._key, counters(0, size))
            self._sorted = np.argsort(random, kind="stable").astype(np.int32)

    def slots(self, start: int, count: int) -> Index:
        """The slots that come out from number `start` on."""
        if self._sorted is not None:
            return self._sorted[start : start + count].astype(np.int64)
        return permuted(self._key, self.size, start, count)


def permuted(key: int, size: int, start: int, count: int) -> Index:
    """The entries from `start` on of a permutation of `size` numbers, without the others."""
    value = counters(start, count)
    width = max((size - 1).bit_length(), 2)
    outside = np.arange(count)
    while len(outside):
        # Walk on along the cycle until inside: the larger permutation closes on the smaller.
        value[outside] = _feistel(key, value[outside], width)
        outside = outside[value[outside] >= np.uint64(size)]
    return value.astype(np.int64)


def _feistel(key: int, value: NDArray[np.uint64], width: int) -> NDArray[np.uint64]:
    """A permutation of all numbers of `width` bits."""
    low, high = width // 2, width - width // 2
    left = value >> np.uint64(low)
    right = value & np.uint64((1 << low) - 1)
    for turn in range(_ROUNDS):  # an even number, so the widths of the halves end as they began
        random = right + np.uint64(mix(key, turn))
        random *= _SPREAD
        random ^= random >> np.uint64(32)
        random *= _AGAIN
        random >>= np.uint64(64 - high)
        left ^= random
        left, right = right, left
        low, high = high, low
    return left << np.uint64(low) | right
