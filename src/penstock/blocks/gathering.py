"""The rows of a column as they come, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.build import column_of
from penstock.blocks.columns import Column, DenseColumn
from penstock.kernels.spans import Empty

LARGE = 16 << 10
"""Arrays of so many bytes are laid where they belong at once, while they are in the processor's cache."""
NUMBERS = "biufc"


class Gathering:
    """Leaves of one column. Large arrays of one dtype and shape are not kept, but copied into one."""

    def __init__(self, first: Any, most: int, room: int, empty: Empty) -> None:
        """There are at most `most`, and no more after `room` bytes."""
        self._rows = 0
        self._leaves: list[Any] = []
        self._array: NDArray[Any] | None = None
        if is_large(first):
            rows = min(most, room // first.nbytes + 1)
            if rows > 1:
                self._array = empty((rows, *first.shape), first.dtype)

    def add(self, leaf: Any) -> None:
        """The next one."""
        array, at = self._array, self._rows
        self._rows += 1
        if array is None:
            self._leaves.append(leaf)
        elif type(leaf) is np.ndarray and leaf.dtype == array.dtype and leaf.shape == array.shape[1:]:
            array[at] = leaf
        else:
            self._leaves = [*array[:at], leaf]
            self._array = None

    def column(self) -> Column:
        """All of them."""
        if self._array is None:
            return column_of(self._leaves)
        return DenseColumn(self._array[: self._rows])


def is_large(leaf: Any) -> bool:
    """Whether it is an array of numbers that is not small."""
    return type(leaf) is np.ndarray and leaf.nbytes >= LARGE and leaf.dtype.kind in NUMBERS


def gatherings(leaves: Sequence[Any], most: int, room: int, empty: Empty) -> list[Gathering] | None:
    """For rows like these; None where it is as well to keep them until all are there."""
    if most < 2 or not any(map(is_large, leaves)):
        return None
    return [Gathering(leaf, most, room, empty) for leaf in leaves]
