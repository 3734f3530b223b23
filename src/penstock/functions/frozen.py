"""What a compiler takes for constants in a function: as long as they are the same, it need not run again."""

from __future__ import annotations

from collections.abc import Hashable
from hashlib import blake2b
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from penstock.functions.reached import enclosed_by, read_by

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


class _Unknown(Exception):  # noqa: N818
    """A value that may change and still be the same object."""


def frozen(function: Any) -> Hashable | None:
    """What is equal for a function that does the same; None if nobody can say.

    >>> factor = 2
    >>> def scaled(x): return x * factor
    >>> before = frozen(scaled)
    >>> before == frozen(scaled)
    True
    >>> factor = 3
    >>> before == frozen(scaled)
    False
    """
    if not isinstance(function, FunctionType):
        return function if hasattr(function, "py_func") else None
    read = [(name, value) for _, name, value in read_by(function)]
    kept = (function.__defaults__, tuple((function.__kwdefaults__ or {}).items()))
    try:
        return function.__code__, _constant((*kept, *enclosed_by(function).items(), *read))
    except _Unknown:
        return None


def _constant(value: Any) -> Hashable:
    """A value as something to compare."""
    if type(value) in _PLAIN:
        return type(value), repr(value)
    if type(value) is tuple:
        return tuple(map(_constant, value))
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        return value.dtype.str, value.shape, blake2b(value.tobytes(), digest_size=16).digest()
    if isinstance(value, Hashable) and (isinstance(value, ModuleType | np.dtype) or callable(value)):
        return value  # what is read of a module is among what the function reads
    raise _Unknown
