"""Brightness and contrast."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.blocks.rows import Rows
from penstock.blocks.trace import block_function, trusted
from penstock.errors import ArgumentError
from penstock.image.codecs.rows import values_of_rows
from penstock.image.convert import convert_image_dtype
from penstock.image.flip import LARGE
from penstock.image.images import as_image, height_axis
from penstock.random.continuous import uniform

_CONTRAST = "ps.image.adjust_contrast"


@trusted
def adjust_brightness(image: Any, delta: Any) -> Any:
    """Add `delta`, on the scale from 0 to 1; whole numbers stay what they are, and within range.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ps.image.adjust_brightness(np.array([[0, 250]], np.uint8), 0.1)
    array([[ 25, 255]], dtype=uint8)
    """
    image = as_image(image, "ps.image.adjust_brightness")
    floats = _floats(image)
    return convert_image_dtype(floats + _as(delta, floats.dtype), image.dtype, saturate=True)


def _contrast_rows(image: Any, contrast_factor: Any) -> Any:
    image = as_image(image, _CONTRAST)
    if not isinstance(image, Rows) or image.dtype != np.float32 or image.nbytes < LARGE:
        return _contrast(image, contrast_factor)
    # One after another: an image stays near while three passes are made over it.
    made = image._trace.empty(image._array.shape, image.dtype)
    factors = values_of_rows(contrast_factor, image._trace)
    for one, factor, out in zip(image._array, factors, made, strict=True):
        out[...] = _contrast(one, factor)
    return Rows(made, image._trace)


@block_function(_contrast_rows)
def adjust_contrast(image: Any, contrast_factor: Any) -> Any:
    """Scale each channel's distance to its mean over the image by `contrast_factor`.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ps.image.adjust_contrast(np.array([[[0.0], [1.0]]], np.float32), 0.5).ravel()
    array([0.25, 0.75], dtype=float32)
    """
    return _contrast(as_image(image, _CONTRAST), contrast_factor)


def _contrast(image: Any, contrast_factor: Any) -> Any:
    floats = _floats(image)
    axis = height_axis(image)
    # Over the height first, where neighbours lie side by side.
    total = floats.sum(axis=axis, keepdims=True, dtype=np.float32).sum(axis=axis + 1, keepdims=True)
    mean = (total / np.float32(image.shape[axis] * image.shape[axis + 1])).astype(floats.dtype)
    if isinstance(mean, np.ndarray):
        mean = np.repeat(mean, image.shape[axis + 1], axis + 1)  # a whole line: loops over one are quick
    factor = _as(contrast_factor, floats.dtype)
    return convert_image_dtype((floats - mean) * factor + mean, image.dtype, saturate=True)


@trusted
def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Any:
    """Add a random number from `-max_delta` up to `max_delta`, as `adjust_brightness` does.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ds = ps.Dataset.from_tensor_slices(np.zeros((4, 2, 2), np.float32))
    >>> all(abs(x).max() <= 0.2 for x in ds.map(lambda x: ps.image.random_brightness(x, 0.2)))
    True
    """
    if max_delta < 0:
        raise ArgumentError(f"ps.image.random_brightness(max_delta=): expected at least 0, got {max_delta}.")
    return adjust_brightness(image, uniform((), -max_delta, max_delta, seed=seed))


@trusted
def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Any:
    """Scale the contrast by a random number from `lower` up to `upper`, as `adjust_contrast` does.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ds = ps.Dataset.from_tensor_slices(np.zeros((4, 2, 2, 1), np.float32))
    >>> len(list(ds.map(lambda x: ps.image.random_contrast(x, 0.5, 1.5))))
    4
    """
    if not 0 <= lower < upper:
        raise ArgumentError(
            f"ps.image.random_contrast(lower=, upper=): expected 0 <= lower < upper, got {lower} and {upper}."
        )
    return adjust_contrast(image, uniform((), lower, upper, seed=seed))


def _floats(image: Any) -> Any:
    if image.dtype in (np.float16, np.float32):
        return image
    return convert_image_dtype(image, np.float32)


def _as(number: Any, dtype: np.dtype[Any]) -> Any:
    return number.astype(dtype) if hasattr(number, "astype") else dtype.type(number)
