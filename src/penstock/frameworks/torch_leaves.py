"""Leaves as tensors of torch that share their memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.spec import BYTES, OBJECT, TEXT, TensorSpec, dtype_name
from penstock.frameworks.dtypes import PLAIN, VIEWED
from penstock.io.formats.optional import optional

torch: Any = optional("torch", "torch")

Convert = Callable[[NDArray[Any]], Any]
"""An array to a tensor of the same memory."""


class _Alias:
    """The memory of a read-only array, for a tensor: torch has none that are read-only, and would warn."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array  # keeps it alive, and lent, as long as the tensor is
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def unfit(dtype: np.dtype[Any]) -> str:
    """Why leaves of this dtype cannot be tensors, with what to do; nothing if they can."""
    if dtype.type in (np.bytes_, np.str_) or dtype == OBJECT or _is_plain(dtype) or dtype.name in VIEWED:
        return ""
    if not dtype.isnative:
        return (
            f"torch has no numbers in the byte order of {dtype.str!r}: map them to {dtype.newbyteorder('=')}"
        )
    return f"torch has no dtype {dtype_name(dtype)}: map it to one that torch has, or leave the part out"


def unfit_leaf(spec: TensorSpec) -> str:
    """The same for a spec."""
    return "" if spec.dtype in (BYTES, TEXT, OBJECT) else unfit(spec.dtype)


def _is_plain(dtype: np.dtype[Any]) -> bool:
    return dtype.name in PLAIN and dtype.isnative


def tensor_of(array: NDArray[Any], writable: bool = False) -> Any:
    """The tensor of an array, of the same memory; text and objects are lists.

    Copied is what torch cannot look at: an array that runs backwards, and where `writable` is asked for,
    one that is read-only.
    """
    if array.dtype.char in "OSU":
        return array.tolist()
    seen, real = _ways(array.dtype)
    if not array.flags.c_contiguous:
        array = _with_steps(array)
    if seen is not None:
        array = array.view(seen)
    if not array.flags.writeable:
        array = array.copy() if writable else _unlocked(array)
    tensor = torch.from_numpy(array)
    return tensor if real is None else tensor.view(real)


def _unlocked(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory, which NumPy lets torch have without a warning."""
    view = array.view()
    try:
        view.flags.writeable = True
    except ValueError:  # pages that cannot be written to, as those of a file
        return np.asarray(_Alias(array))
    return view


def _with_steps(array: NDArray[Any]) -> NDArray[Any]:
    """The array, or a copy where its steps are none that torch has."""
    size = array.itemsize
    sound = all(step >= 0 and step % size == 0 for step in array.strides) and array.flags.aligned
    return array if sound else array.copy()


@cache
def _ways(dtype: np.dtype[Any]) -> tuple[str | None, Any]:
    """As what NumPy passes arrays of this dtype on, and what they are for torch; None for the same."""
    if _is_plain(dtype):
        return None, None
    seen = VIEWED.get(dtype.name)
    if seen is None:
        raise TypeError(unfit(dtype))
    return seen, getattr(torch, dtype.name)
