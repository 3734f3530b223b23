"""Whole numbers that a user's function gives for an element: keys, sizes, classes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock.errors import DataError
from penstock.functions.function import UserFunction


def whole(
    value: Any,
    what: str,
    function: UserFunction,
    number: int,
    *,
    least: int | None = None,
    below: int | None = None,
) -> int:
    """The number that `function` has returned for element `number`; `DataError` if it is none."""
    try:
        result = operator.index(value[()] if isinstance(value, np.ndarray) else value)
    except (TypeError, IndexError):
        raise _wrong(f"{what} that is one whole number", value, function, number) from None
    if least is not None and result < least:
        raise _wrong(f"{what} of at least {least}", value, function, number)
    if below is not None and result >= below:
        raise _wrong(f"{what} below {below}", value, function, number)
    return result


def _wrong(expected: str, value: Any, function: UserFunction, number: int) -> DataError:
    return DataError(
        f"{function.where}: the function was expected to return {expected}, got {value!r} for "
        f"element {number}.",
        op=function.label,
        number=number,
    )
