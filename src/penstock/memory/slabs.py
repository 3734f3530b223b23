"""Records of any length in a scratch file, whose places are used again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from penstock.memory.spill import Scratch

SLAB = 4 << 20
"""The file's space is taken in pieces of so many bytes."""


class Slabs:
    """Places for records. A free place goes to the next record of nearly the same length."""

    def __init__(self, scratch: Callable[[], Scratch]) -> None:
        self._scratch = scratch
        self._slabs: list[tuple[int, int]] = []
        self._next = self._end = 0
        self._free: dict[int, list[int]] = {}

    def write(self, record: NDArray[Any]) -> int:
        """Write a record; the place where it is."""
        size = rounded(record.nbytes)
        free = self._free.get(size)
        place = free.pop() if free else self._fresh(size)
        self._scratch().write(place, record)
        return place

    def read(self, place: int, out: NDArray[Any]) -> None:
        """Read the record at a place."""
        self._scratch().read(place, out)

    def free(self, place: int, length: int) -> None:
        """Forget a record of that length."""
        self._free.setdefault(rounded(length), []).append(place)

    def _fresh(self, size: int) -> int:
        if self._next + size > self._end:
            slab = max(SLAB, size)
            self._next = self._scratch().allocate(slab)
            self._end = self._next + slab
            self._slabs.append((self._next, slab))
        place, self._next = self._next, self._next + size
        return place

    def close(self) -> None:
        """Give the file's space back."""
        for place, size in self._slabs:
            self._scratch().free(place, size)
        self._slabs.clear()
        self._free.clear()
        self._next = self._end = 0


def rounded(length: int) -> int:
    """A length rounded up to one of eight steps for every power of two."""
    step = 1 << max(length.bit_length() - 4, 3)
    return -(-max(length, 1) // step) * step
