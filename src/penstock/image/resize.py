"""`resize`: an image of another size."""

from __future__ import annotations

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
) -> Any:
    """Change the height and the width, as `tf.image.resize` does without antialiasing.

    `"bilinear"` gives float32, `"nearest"` keeps the dtype. Pixels are areas whose centres lie at
    halves, so that an image of another size covers the same scene.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ps.image.resize(np.array([[0.0, 4.0]]), (1, 4))
    array([[0., 1., 3., 4.]], dtype=float32)
    """
    call = "ps.image.resize"
    image = as_image(images, call)
    if len(tuple(size)) != 2 or min(size) < 1:
        raise ArgumentError(f"{call}(size=): expected a height and a width, got {size!r}.")
    if method not in METHODS:
        raise ArgumentError(f"{call}(method=): expected one of {METHODS}, got {method!r}.")
    axis = height_axis(image)
    old = (image.shape[axis], image.shape[axis + 1])
    new = (int(size[0]), int(size[1]))
    if preserve_aspect_ratio:
        new = _within(old, new)
    if method == "nearest":
        for which in (0, 1):
            image = np.take(image, _nearest(old[which], new[which]), axis + which)
        return image
    image = image.astype(np.float32)
    for which in (1, 0):
        if new[which] == old[which]:
            continue
        image = _between(image, axis + which, *_neighbours(old[which], new[which]))
    return image


def _within(old: tuple[int, int], new: tuple[int, int]) -> tuple[int, int]:
    """The largest size with the old sides' ratio that fits into the new one."""
    scale = min(np.float32(new[0]) / np.float32(old[0]), np.float32(new[1]) / np.float32(old[1]))
    return int(np.round(scale * np.float32(old[0]))), int(np.round(scale * np.float32(old[1])))


def _centres(old: int, new: int) -> NDArray[np.float32]:
    """Where the centres of the new pixels lie, in old pixels."""
    scale = np.float32(old) / np.float32(new)
    return (np.arange(new, dtype=np.float32) + np.float32(0.5)) * scale


def _nearest(old: int, new: int) -> NDArray[np.int64]:
    return np.clip(np.floor(_centres(old, new)).astype(np.int64), 0, old - 1)


def _neighbours(old: int, new: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """For each new pixel its two old neighbours, and how far it is from the first of them."""
    at = _centres(old, new) - np.float32(0.5)
    below = np.floor(at)
    low = np.maximum(below.astype(np.int64), 0)
    high = np.minimum(np.ceil(at).astype(np.int64), old - 1)
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
