"""Where the pixels of an image of another size lie among the old ones."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ArgumentError

METHODS = ("bilinear", "nearest")


def sides(size: Any, call: str) -> tuple[int, int]:
    """A height and a width, checked."""
    try:
        height, width = map(operator.index, size)
    except (TypeError, ValueError):
        height = width = 0
    if min(height, width) < 1:
        raise ArgumentError(f"{call}: expected a height and a width, as in (32, 32), got {size!r}.")
    return height, width


def centres(old: float, new: int) -> NDArray[np.float32]:
    """Where the centres of the new pixels lie, in old pixels."""
    scale = np.float32(old) / np.float32(max(new, 1))
    return (np.arange(new, dtype=np.float32) + np.float32(0.5)) * scale


def nearest(old: float, new: int, count: int, start: float = 0) -> NDArray[np.int64]:
    """For each of the `new` pixels, of the `count` there are, the old one that it lies in.

    The old pixels that make the new ones start at `start` and are `old` long.
    """
    at: NDArray[np.int64] = np.floor(centres(old, new) + np.float32(start)).astype(np.int64)
    return np.minimum(at, np.int64(count - 1))


def neighbours(
    old: float, new: int, count: int, start: float = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """For each new pixel its two old neighbours, and how far it is from the first of them."""
    at = centres(old, new) - np.float32(0.5) + np.float32(start)
    below = np.floor(at)
    low = np.maximum(below.astype(np.int64), 0)
    high = np.minimum(np.ceil(at).astype(np.int64), count - 1)
    return low, high, at - below


@lru_cache(maxsize=64)
def covered(old: int, new: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each new pixel the old ones that it covers, one in a row of the result, and their weights."""
    width = np.float32(old) / np.float32(max(new, 1))
    at = centres(old, new)
    first = np.ceil(at - width - np.float32(0.5)).astype(np.int64)
    pixels = first + np.arange(2 * int(np.ceil(width)) + 1)[:, None]
    distance = np.abs(pixels.astype(np.float32) + np.float32(0.5) - at) / width
    weights = np.maximum(1 - distance, 0) * ((pixels >= 0) & (pixels < old))
    return np.clip(pixels, 0, old - 1), (weights / weights.sum(axis=0)).astype(np.float32)
