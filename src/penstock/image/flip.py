"""Mirrored and turned images."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.rows import Rows
from penstock.blocks.trace import block_function, trusted
from penstock.image.images import as_image, height_axis
from penstock.random.discrete import bernoulli

LARGE = 16 << 10
"""Images of so many bytes are mirrored one by one, smaller ones all at once."""


@trusted
def flip_left_right(image: Any) -> Any:
    """Mirror an image: left becomes right.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ps.image.flip_left_right(np.array([[1, 2, 3]]))
    array([[3, 2, 1]])
    """
    image = as_image(image, "ps.image.flip_left_right")
    return _flipped(image, height_axis(image) + 1)


@trusted
def flip_up_down(image: Any) -> Any:
    """Mirror an image: up becomes down.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ps.image.flip_up_down(np.array([[1], [2]]))
    array([[2],
           [1]])
    """
    image = as_image(image, "ps.image.flip_up_down")
    return _flipped(image, height_axis(image))


@trusted
def random_flip_left_right(image: Any, seed: int | None = None) -> Any:
    """Mirror an image with probability 1/2: left becomes right. In a stack, each by itself.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ds = ps.Dataset.from_tensor_slices(np.zeros((4, 2, 2)))
    >>> len(list(ds.map(ps.image.random_flip_left_right)))
    4
    """
    image = as_image(image, "ps.image.random_flip_left_right")
    return _by_chance(image, height_axis(image) + 1, seed)


@trusted
def random_flip_up_down(image: Any, seed: int | None = None) -> Any:
    """Mirror an image with probability 1/2: up becomes down. In a stack, each by itself.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ds = ps.Dataset.from_tensor_slices(np.zeros((4, 2, 2)))
    >>> len(list(ds.map(ps.image.random_flip_up_down)))
    4
    """
    image = as_image(image, "ps.image.random_flip_up_down")
    return _by_chance(image, height_axis(image), seed)


@trusted
def rot90(image: Any, k: int = 1) -> Any:
    """Turn an image to the left by `k` times 90 degrees.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ps.image.rot90(np.array([[1, 2], [3, 4]]))
    array([[2, 4],
           [1, 3]])
    """
    image = as_image(image, "ps.image.rot90")
    axis = height_axis(image)
    return np.rot90(image, operator.index(k), (axis, axis + 1))


def _flipped(image: Any, axis: int) -> Any:
    return image[(..., slice(None, None, -1), *(slice(None),) * (-1 - axis))]


def _by_chance(image: Any, axis: int, seed: int | None) -> Any:
    stack = image.shape[:-3] if image.ndim == 4 else ()
    return _where(bernoulli(0.5, stack, seed), image, axis)


def _where_of_rows(coin: Rows, image: Any, axis: int) -> Any:
    trace = coin._trace
    if not isinstance(image, Rows) or coin.ndim:
        chosen = coin[(..., *(None,) * (image.ndim - coin.ndim))]
        return np.where(chosen, _flipped(image, axis), image)
    later = image._turned(coin._array, axis)
    if later is not None:
        return later
    source = image._array
    out = trace.empty(source.shape, source.dtype)
    trace.largest = max(trace.largest, out.nbytes)
    if source[0].nbytes >= LARGE:
        for turned, row, into in zip(coin._array.tolist(), source, out, strict=True):
            _copy(into, _flipped(row, axis) if turned else row)
        return Rows(out, trace)
    np.copyto(out, source)
    chosen = np.flatnonzero(coin._array)
    # As large as the result, though half would do: buffers are found again by their size.
    picked = trace.empty(source.shape, source.dtype)[: len(chosen)]
    np.take(source, chosen, 0, out=picked, mode="clip")
    out[chosen] = _flipped(picked, axis)
    return Rows(out, trace)


def _copy(into: NDArray[Any], image: NDArray[Any]) -> None:
    """Copy an image; a mirrored one channel by channel: NumPy's innermost loop is then long."""
    channels = image.shape[-1] if image.ndim > 2 else 1
    if image.flags.c_contiguous or not 1 < channels <= 4:
        np.copyto(into, image)
        return
    for channel in range(channels):
        np.copyto(into[..., channel], image[..., channel])


@block_function(_where_of_rows)
def _where(coin: Any, image: Any, axis: int) -> Any:
    """The image, mirrored where `coin` says so: a copy either way, as over a block."""
    if coin.ndim:
        chosen = coin.reshape(*coin.shape, *(1,) * (image.ndim - coin.ndim))
        return np.where(chosen, _flipped(image, axis), image)
    return (_flipped(image, axis) if coin else image).copy()
