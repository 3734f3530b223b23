"""`convert_image_dtype`: between whole numbers and floats from 0 to 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.blocks.rows import Rows
from penstock.blocks.trace import StandIn, trusted
from penstock.errors import ArgumentTypeError


@trusted
def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False) -> Any:
    """Convert an image to another dtype and scale it: the largest whole number is 1.0.

    With `saturate`, values outside the new dtype's range become its nearest end; otherwise they are
    cast as NumPy casts them.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ps.image.convert_image_dtype(np.array([[0, 255]], np.uint8), np.float32)
    array([[0., 1.]], dtype=float32)
    """
    if isinstance(image, StandIn) and not isinstance(image, Rows):
        image._refuse("converts images of several shapes")
    if not isinstance(image, Rows):
        image = np.asarray(image)
    dtype = np.dtype(dtype)
    for kind in (image.dtype, dtype):
        if kind.kind not in "iuf":
            raise ArgumentTypeError(
                f"ps.image.convert_image_dtype: expected whole numbers or floats, got {kind}."
            )
    if image.dtype == dtype:
        return image
    with np.errstate(invalid="ignore", over="ignore"):
        return _converted(image, dtype, saturate=saturate)


def _converted(image: Any, dtype: np.dtype[Any], *, saturate: bool) -> Any:
    whole, to_whole = image.dtype.kind in "iu", dtype.kind in "iu"
    if whole and to_whole:
        high, new_high = int(np.iinfo(image.dtype).max), int(np.iinfo(dtype).max)
        if high > new_high:
            return _cast(image // ((high + 1) // (new_high + 1)), dtype, saturate=saturate)
        return _cast(image, dtype, saturate=saturate) * ((new_high + 1) // (high + 1))
    if whole:
        return image.astype(dtype) * (1.0 / int(np.iinfo(image.dtype).max))
    if to_whole:
        # The half keeps the cast from rounding the largest value down.
        return _cast(image * (int(np.iinfo(dtype).max) + 0.5), dtype, saturate=saturate)
    return image.astype(dtype)


def _cast(image: Any, dtype: np.dtype[Any], *, saturate: bool) -> Any:
    if saturate:
        low, high = _limits(image.dtype, dtype)
        image = np.clip(image, low, high)
    return image.astype(dtype)


def _limits(source: np.dtype[Any], target: np.dtype[Any]) -> tuple[Any, Any]:
    """The ends of the range of both dtypes, in `source`, no further out than `target` goes."""
    own: Any = np.finfo(source) if source.kind == "f" else np.iinfo(source)
    new = np.iinfo(target)
    kind = source.type
    if source.kind != "f":
        return kind(max(int(own.min), int(new.min))), kind(min(int(own.max), int(new.max)))
    low, high = kind(max(float(own.min), float(new.min))), kind(min(float(own.max), float(new.max)))
    # A float may not hold the end itself, but one beyond it.
    if int(low) < new.min:
        low = np.nextafter(low, kind(0))
    if int(high) > new.max:
        high = np.nextafter(high, kind(0))
    return low, high
