"""Checks of what features are declared with."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.spec import BYTES
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.site import user_site

DTYPES: dict[str, np.dtype[Any]] = {
    "int64": np.dtype(np.int64),
    "float32": np.dtype(np.float32),
    "string": BYTES,
    "bytes": BYTES,
}


def dtype_of(dtype: Any, call: str) -> np.dtype[Any]:
    """The dtype of a feature; one that an Example holds."""
    try:
        known = DTYPES.get(dtype) if isinstance(dtype, str) else None
        made: np.dtype[Any] | None = np.dtype(dtype) if known is None else known
    except TypeError:
        made = None
    if made is None or made not in DTYPES.values():
        raise ArgumentTypeError(
            f"{call}(dtype=) at {user_site()}: expected int64, float32 or bytes, which is what an Example "
            f"holds, got {dtype!r}. Convert to others with x.astype(...) afterwards."
        )
    return made


def shape_of(shape: Any, call: str, least: int = 0) -> tuple[int, ...]:
    """The shape of a feature."""
    try:
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        sizes = tuple(map(operator.index, sizes))
    except TypeError:
        sizes = (-1,)
    if any(size < least for size in sizes):
        raise ArgumentError(f"{call}(shape=) at {user_site()}: expected whole sizes, got {shape!r}.")
    return sizes


def values_of(value: Any, dtype: np.dtype[Any], call: str) -> NDArray[Any]:
    """A default value as an array of that dtype, of objects for bytes."""
    if dtype == BYTES:
        flat = np.array(value, object)
        flat = np.array([one.encode() if isinstance(one, str) else one for one in flat.flat], object)
        if all(isinstance(one, bytes) for one in flat):
            return flat
    else:
        array = np.asarray(value)
        if array.dtype != object and (np.can_cast(array.dtype, dtype, "same_kind") or not array.size):
            return array.astype(dtype).ravel()
    name = "bytes" if dtype == BYTES else str(dtype)
    raise ArgumentTypeError(f"{call}(default_value=) at {user_site()}: expected {name}, got {value!r}.")


def check_name(value: Any, call: str) -> None:
    """A feature's name is text."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{call} at {user_site()}: expected the name of a feature, got {value!r}.")
