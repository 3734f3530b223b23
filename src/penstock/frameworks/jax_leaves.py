"""Leaves as arrays of JAX, on one device or shared out over several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.spec import BYTES, OBJECT, TEXT, TensorSpec, dtype_name
from penstock.frameworks.dtypes import EXTENDED, PLAIN
from penstock.io.formats.optional import optional

jax: Any = optional("jax", "jax")

INT32 = np.iinfo(np.int32)


def unfit_leaf(spec: TensorSpec) -> str:
    """Why leaves of a spec cannot be arrays of JAX, with what to do; nothing if they can."""
    dtype = spec.dtype
    if dtype in (BYTES, TEXT, OBJECT) or dtype.char in "SU":
        return ""
    if dtype.name in PLAIN and dtype.isnative:
        return ""
    if dtype.name.startswith(EXTENDED):
        return ""
    if not dtype.isnative:
        native = dtype.newbyteorder("=")
        return f"JAX has no numbers in the byte order of {dtype.str!r}: map them to {native}"
    return f"JAX has no dtype {dtype_name(dtype)}: map it to one that JAX has, or leave the part out"


def unlike(nest: Any, sharding: Any) -> str:
    """Why a nest of shardings does not go with an element, or with the nest of a spec; nothing if it does."""
    if isinstance(sharding, dict):
        if not isinstance(nest, dict) or (missing := [key for key in nest if key not in sharding]):
            got = f"nothing for {missing[0]!r}" if isinstance(nest, dict) else "a dict where they have none"
            return f"expected shardings in a nest as in the elements, got {got}"
        return next(filter(None, (unlike(nest[key], sharding[key]) for key in nest)), "")
    if isinstance(sharding, tuple):
        if not isinstance(nest, tuple) or len(nest) != len(sharding):
            had = f"{len(nest)} parts" if isinstance(nest, tuple) else "no tuple"
            return (
                f"expected shardings in a nest as in the elements, got {len(sharding)} where they have {had}"
            )
        return next(filter(None, map(unlike, nest, sharding)), "")
    return ""


class Putter:
    """Puts elements where they belong: all leaves by one `sharding`, or each by its own in a nest of them."""

    def __init__(self, sharding: Any) -> None:
        self._sharding = sharding
        self._wide = bool(jax.config.jax_enable_x64)

    def __call__(self, element: Any) -> Any:
        """The element as arrays of JAX; text and objects stay, arrays of them are lists."""
        if why := unlike(element, self._sharding):
            raise TypeError(why)
        return self._put(element, self._sharding)

    def _put(self, part: Any, sharding: Any) -> Any:
        if isinstance(part, np.ndarray):
            return self._leaf(part, sharding)
        if isinstance(part, tuple):
            several = sharding if isinstance(sharding, tuple) else (sharding,) * len(part)
            parts = [self._put(one, its) for one, its in zip(part, several, strict=True)]
            return type(part)(*parts) if hasattr(part, "_fields") else tuple(parts)
        if isinstance(part, dict):
            by_key = sharding if isinstance(sharding, dict) else dict.fromkeys(part, sharding)
            return {key: self._put(one, by_key[key]) for key, one in part.items()}
        if isinstance(part, np.generic) and not isinstance(part, np.bytes_ | np.str_):
            return self._leaf(np.asarray(part), sharding)
        return part

    def _leaf(self, array: NDArray[Any], sharding: Any) -> Any:
        if array.dtype.char in "OSU":
            return array.tolist()
        if why := unfit_leaf(TensorSpec(array.shape, array.dtype)):
            raise TypeError(why)
        if not self._wide:
            _fits(array)
        if not isinstance(sharding, jax.sharding.Sharding):
            return jax.device_put(array, sharding)
        sharding = _for_rank(sharding, array.ndim)
        try:
            if sharding.is_fully_addressable:
                return jax.device_put(array, sharding)
            return jax.make_array_from_process_local_data(sharding, array)
        except ValueError as error:
            raise TypeError(_uneven(array, error)) from None


def _for_rank(sharding: Any, rank: int) -> Any:
    """The sharding, or the one that has a number everywhere, where there is nothing to share out."""
    if rank or not isinstance(sharding, jax.sharding.NamedSharding):
        return sharding
    return jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec())


def _uneven(array: NDArray[Any], error: ValueError) -> str:
    said = str(error).rstrip(".")
    return (
        f"an array of shape {array.shape} cannot be shared out: {said}. Batches that all have one size, a "
        f"multiple of the number of devices, can be: batch(n, drop_remainder=True)"
    )


def _fits(array: NDArray[Any]) -> None:
    """JAX makes int64 to int32 unless it is told otherwise, and would cut numbers off."""
    if array.dtype in (np.int64, np.uint64) and array.size:
        low, high = array.min(), array.max()
        most = INT32.max if array.dtype == np.int64 else np.iinfo(np.uint32).max
        if high > most or low < INT32.min:
            raise TypeError(
                f"{array.dtype} numbers from {low} to {high} do not fit the 32 bits that JAX has for them. "
                f"Say jax.config.update('jax_enable_x64', True), or map them to another dtype"
            )
