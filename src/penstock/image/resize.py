"""`resize`: an image of another size."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.trace import trusted
from penstock.errors import ArgumentError
from penstock.image.images import as_image, height_axis

METHODS = ("bilinear", "nearest")


@trusted
def resize(
    images: Any,
    size: Sequence[int],
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
) -> Any:
    """Change the height and the width, as `tf.image.resize` does.

    `"bilinear"` gives float32, `"nearest"` keeps the dtype. Pixels are areas whose centres lie at
    halves, so that an image of another size covers the same scene. With `antialias=True`, the pixels
    of a smaller bilinear image weigh all the old pixels that they cover, rather than the nearest two.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ps.image.resize(np.array([[0.0, 4.0]]), (1, 4))
    array([[0., 1., 3., 4.]], dtype=float32)
    """
    call = "ps.image.resize"
    image = as_image(images, call)
    new = sides(size, f"{call}(size=)")
    if method not in METHODS:
        raise ArgumentError(f"{call}(method=): expected one of {METHODS}, got {method!r}.")
    axis = height_axis(image)
    old = (image.shape[axis], image.shape[axis + 1])
    if preserve_aspect_ratio:
        new = _within(old, new)
    if method == "nearest":
        for which in (0, 1):
            image = np.take(image, nearest(old[which], new[which], old[which]), axis + which)
        return image
    image = image.astype(np.float32)
    for which in (1, 0):
        if new[which] == old[which]:
            continue
        if antialias and new[which] < old[which]:
            image = _weighed(image, axis + which, *_covered(old[which], new[which]))
        else:
            image = _between(image, axis + which, *neighbours(old[which], new[which], old[which]))
    return image


def sides(size: Any, call: str) -> tuple[int, int]:
    """A height and a width, checked."""
    try:
        height, width = map(operator.index, size)
    except (TypeError, ValueError):
        height = width = 0
    if min(height, width) < 1:
        raise ArgumentError(f"{call}: expected a height and a width, as in (32, 32), got {size!r}.")
    return height, width


def _within(old: tuple[int, int], new: tuple[int, int]) -> tuple[int, int]:
    """The largest size with the old sides' ratio that fits into the new one."""
    scale = min(np.float32(new[0]) / np.float32(old[0]), np.float32(new[1]) / np.float32(old[1]))
    return int(np.round(scale * np.float32(old[0]))), int(np.round(scale * np.float32(old[1])))


def _centres(old: float, new: int) -> NDArray[np.float32]:
    """Where the centres of the new pixels lie, in old pixels."""
    scale = np.float32(old) / np.float32(new)
    return (np.arange(new, dtype=np.float32) + np.float32(0.5)) * scale


def nearest(old: float, new: int, count: int, start: float = 0) -> NDArray[np.int64]:
    """For each of the `new` pixels, of the `count` there are, the old one that it lies in.

    The old pixels that make the new ones start at `start` and are `old` long.
    """
    at: NDArray[np.int64] = np.floor(_centres(old, new) + np.float32(start)).astype(np.int64)
    return np.minimum(at, np.int64(count - 1))


def neighbours(
    old: float, new: int, count: int, start: float = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """For each new pixel its two old neighbours, and how far it is from the first of them."""
    at = _centres(old, new) - np.float32(0.5) + np.float32(start)
    below = np.floor(at)
    low = np.maximum(below.astype(np.int64), 0)
    high = np.minimum(np.ceil(at).astype(np.int64), count - 1)
    return low, high, at - below


def _between(
    image: Any,
    axis: int,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    share: NDArray[np.float32],
) -> Any:
    first, second = np.take(image, low, axis), np.take(image, high, axis)
    share = share.reshape(-1, *(1,) * (-1 - axis))
    return first + (second - first) * share


def _covered(old: int, new: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each new pixel the old ones that it covers, one in a row of the result, and their weights."""
    width = np.float32(old) / np.float32(new)
    at = _centres(old, new)
    first = np.ceil(at - width - np.float32(0.5)).astype(np.int64)
    pixels = first + np.arange(2 * int(np.ceil(width)) + 1)[:, None]
    distance = np.abs(pixels.astype(np.float32) + np.float32(0.5) - at) / width
    weights = np.maximum(1 - distance, 0) * ((pixels >= 0) & (pixels < old))
    return np.clip(pixels, 0, old - 1), (weights / weights.sum(axis=0)).astype(np.float32)


def _weighed(image: Any, axis: int, pixels: NDArray[np.int64], weights: NDArray[np.float32]) -> Any:
    shape = (-1, *(1,) * (-1 - axis))
    total: Any = np.float32(0)
    for index, weight in zip(pixels, weights, strict=True):
        total = total + np.take(image, index, axis) * weight.reshape(shape)
    return total
