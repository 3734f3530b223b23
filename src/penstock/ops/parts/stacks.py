"""Memory for rows that the op below is going to stack: they are made where they are to lie."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.graph.running import Context
from penstock.kernels.spans import Empty
from penstock.memory.buffers import Lease, is_stacked, owner_of

FREE = 6
"""There must be room for so many stacks: some are complete and in use while others are begun."""
MISSED = 3
"""After so many blocks in a row that are elsewhere, nothing is given a place any more."""
BEGUN = 4
"""So many stacks are begun at a time, at most."""


class Stacks:
    """Gives rows their place in a stack of `size`, where one is larger than a block; else plain memory."""

    def __init__(self, size: int, context: Context) -> None:
        self._size = size
        self._context = context
        self._begun: dict[Any, list[Any]] = {}  # the array of a stack, and how many of its rows have a place
        self._serves = size > 1
        self.shifted = False
        """Whether a row was left out, so that those after it come to other places of their stacks."""
        self._missed = 0
        self._lock = threading.Lock()  # rows are made on several threads

    def rows_at(self, place: int, most: int) -> int:
        """How many rows to make at once from that place on, at most so many: of one stack, or whole ones."""
        if self.shifted:
            return most
        if most < self._size:
            return min(most, self._size - place % self._size)
        return most - (place + most) % self._size

    def empty_at(self, place: int, rows: int) -> Empty:
        """What allocates for the results of so many rows from `place` on."""
        context, left = self._context, [self._serves]

        def empty(shape: Any, dtype: Any) -> NDArray[Any]:
            if left[0] and isinstance(shape, tuple) and len(shape) > 1 and shape[0] <= rows:
                part = self._part(place, shape, np.dtype(dtype))
                if part is not None:
                    left[0] = False
                    return part
            return context.empty(shape, dtype)

        return empty

    def _part(self, place: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any] | None:
        number, first = divmod(place, self._size)
        count, size = shape[0], self._size * math.prod(shape[1:]) * dtype.itemsize
        if size <= self._context.block_bytes or first + count > self._size:
            return None
        with self._lock:
            if not self._serves:
                return None
            key = number, shape[1:], dtype
            if key not in self._begun:
                stack = self._new(size, (self._size, *shape[1:]), dtype)
                if stack is None:
                    return None
                self._begun[key] = [stack, 0]
            begun = self._begun[key]
            begun[1] += count
            if begun[1] >= self._size:
                del self._begun[key]
            part: NDArray[Any] = begun[0][first : first + count]
            return part

    def _new(self, size: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any] | None:
        context = self._context
        if context.ledger.room(context.account) < FREE * size:
            return None
        while len(self._begun) >= BEGUN:  # rows failed that were to complete it
            del self._begun[next(iter(self._begun))]
        stack = context.empty(shape, dtype)
        owner = owner_of(stack)
        if not isinstance(owner, Lease):
            return None
        owner.stacked = size
        return stack

    def look(self, block: Block) -> None:
        """See whether it serves: results may be made of what was given a place, and be elsewhere."""
        if not self._serves or not self._begun:
            return
        dense = [column for column in block.columns if isinstance(column, DenseColumn)]
        self._missed = 0 if any(is_stacked(column.array) for column in dense) else self._missed + 1
        if self._missed == MISSED:
            self.end()

    def end(self) -> None:
        """Give nothing a place any more."""
        with self._lock:
            self._serves = False
        self.close()

    def shift(self) -> None:
        """A row is left out."""
        self.shifted = True
        self.end()

    def close(self) -> None:
        """Forget the stacks that are not complete."""
        with self._lock:
            self._begun.clear()


def stack_of(array: NDArray[Any], size: int) -> NDArray[Any] | None:
    """The stack of `size` rows that these are the first of; None where they are in none."""
    owner = owner_of(array)
    if not isinstance(owner, Lease) or not array.flags.c_contiguous or not len(array):
        return None
    total = size * array[:1].nbytes
    if owner.stacked != total or array.ctypes.data != owner.ctypes.data:
        return None
    flat: NDArray[Any] = owner.view(np.ndarray)[:total].view(array.dtype)
    return flat.reshape(size, *array.shape[1:])
