"""The random bits of a draw: a pure function of the key, the element's number and the place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.rows import Rows
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.kernels.bits import bits, bits_of_rows, mix
from penstock.random.scope import scope_for

Shape = int | Sequence[int]


class Draw:
    """Raw bits for one element, or for all of a block, and the way back to what the user gets."""

    def __init__(self, shape: Shape, seed: int | None, what: str) -> None:
        self.shape = _shape(shape, what)
        scope = scope_for(seed)
        key = scope.next_key()
        if seed is not None:
            key = mix(key, seed)
        self._trace = scope.trace
        numbers = scope.numbers
        if not isinstance(numbers, np.ndarray):
            numbers = np.array([numbers])
        rows = bits(key, numbers.view(np.uint64))
        size = math.prod(self.shape)
        self.bits: NDArray[np.uint64] = rows[:, None] if self.shape == () else bits_of_rows(rows, size)

    def finish(self, flat: NDArray[Any]) -> Any:
        """Values of shape (rows, size) as a NumPy value, or a stand-in for one in every row."""
        array = flat.reshape(len(flat), *self.shape)
        if self._trace is not None:
            return Rows(array, self._trace)
        return array[0]


def _shape(shape: Shape, what: str) -> tuple[int, ...]:
    try:
        sizes = (int(shape),) if isinstance(shape, int | np.integer) else tuple(map(int, shape))
    except TypeError:
        raise ArgumentTypeError(f"{what}: expected a shape such as (2, 3), got {shape!r}.") from None
    if any(size < 0 for size in sizes):
        raise ArgumentError(f"{what}: expected sizes of at least 0, got {shape!r}.")
    return sizes
