"""What is data, and may be sent to another process: numbers, texts, arrays, and containers of these."""

from __future__ import annotations

import sys
from collections.abc import Collection
from functools import partial
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from penstock.functions.reached import named

LARGEST, LONGEST, WIDEST, DEEPEST = 10_000, 128 << 10, 4 << 20, 4
"""So many items, characters and bytes of arrays at most, all together; so many containers in one another."""
_PLAIN = (type(None), bool, int, float, complex, range, slice)
_NUMPYS = (np.generic, np.dtype)
_KINDS = {
    **dict.fromkeys(("Decimal", "Fraction"), "decimal fractions"),
    **dict.fromkeys(("date", "time", "timedelta"), "datetime"),
    "Enum": "enum",
    "PurePath": "pathlib pathlib._local",
}
"""Others that are data, and the modules that they are of: whoever has none has not loaded these."""


class Room:
    """Takes data as long as they are few."""

    def __init__(self) -> None:
        self._items, self._texts, self._wide = LARGEST, LONGEST, WIDEST

    def takes(self, value: Any) -> bool:
        """Whether it is data, and fits beside what was taken before."""
        left, items, texts, wide = [(value, 0)], self._items, self._texts, self._wide
        while left:
            one, depth = left.pop()
            items -= 1
            if type(one) in (str, bytes):
                texts -= len(one)
            elif type(one) is np.ndarray:
                wide -= one.nbytes if _is_its_own(one) else WIDEST + 1
            elif not _is_one(one):
                parts = _parts(one) if is_record(value) or not is_record(one) else None
                if parts is None or depth == DEEPEST or len(parts) > items:
                    return False
                left += [(part, depth + 1) for part in parts]
            if items < len(left) or texts < 0 or wide < 0:
                return False
        self._items, self._texts, self._wide = items, texts, wide
        return True


def _is_its_own(array: Any) -> bool:
    """Whether an array is of numbers, in memory that nobody else may write to."""
    whole = array
    while type(whole.base) is np.ndarray:
        whole = whole.base
    return whole.base is None and not array.dtype.hasobject


def _is_one(value: Any) -> bool:
    """Whether it is data without parts."""
    if type(value) in _PLAIN or isinstance(value, _NUMPYS) or is_librarys(value):
        return True
    kinds = type(value).__mro__
    return any(kind.__module__ in _KINDS.get(kind.__name__, "").split() for kind in kinds)


def _parts(value: Any) -> Collection[Any] | None:
    """What is in something that has parts which may be looked at; None if it is no such thing."""
    if type(value) is partial:
        return [value.func, *value.args, *value.keywords.values()]
    if is_record(value):
        value = vars(value)
    if type(value) is dict:
        return [*value.keys(), *value.values()]
    return value if type(value) in (tuple, list, set, frozenset) else None


def is_record(value: Any) -> bool:
    """Whether it is of a dataclass, a namespace, or of argparse: others may refer to the same one."""
    kind = type(value)
    parsing = sys.modules.get("argparse")  # who has none has not loaded it
    if kind is SimpleNamespace or (parsing is not None and kind is parsing.Namespace):
        return True
    return hasattr(kind, "__dataclass_fields__") and kind.__dictoffset__ != 0


def is_librarys(value: Any) -> bool:
    """Whether it is a class or a function in C, which every process finds by its name: `np.float32`, say."""
    if not isinstance(value, type | np.ufunc | type(len)) or isinstance(value, FunctionType):
        return False
    name = getattr(value, "__qualname__", value.__name__)
    return named(str(getattr(value, "__module__", None) or "numpy"), str(name)) is value
