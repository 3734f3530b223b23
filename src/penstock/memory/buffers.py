"""Buffers: the arrays whose death frees memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import size_of


class Lease(np.ndarray):
    """The root of all views of one pooled buffer: NumPy's chain of bases stops at a subclass."""

    stacked: int = 0
    """The bytes of the rows that are each to be made in their place here, to be one element; 0 for others."""


def owner_of(array: NDArray[Any]) -> NDArray[Any]:
    """The array at the root of a view: the one whose death frees the memory."""
    base = array.base
    while isinstance(base, np.ndarray) and not isinstance(array, Lease):
        array, base = base, base.base
    return array


def is_stacked(array: NDArray[Any]) -> bool:
    """Whether it lies where other rows come to lie as well, to be one element."""
    return getattr(owner_of(array), "stacked", 0) > 0


def buffer_bytes(array: NDArray[Any]) -> int:
    """The bytes of a buffer; for references, nearly those of what they refer to."""
    if array.dtype == object:
        return array.nbytes + sum(size_of(item) for item in array.flat)
    return array.nbytes
