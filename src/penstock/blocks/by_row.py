"""Operations done row by row inside a call over a block: their last bit depends on the order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.trace import Opaque, StandIn, Trace


def by_row(
    trace: Trace, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """The results of `function` for each row, stacked: arrays with a row axis."""
    check_rows(trace, args)
    check_rows(trace, kwargs)
    results = [function(*one_row(args, row), **one_row(kwargs, row)) for row in range(trace.rows)]
    first = results[0]
    if isinstance(first, tuple):
        return tuple(_stacked(trace, [result[i] for result in results]) for i in range(len(first)))
    return _stacked(trace, results)


def _stacked(trace: Trace, results: list[Any]) -> NDArray[Any]:
    first = results[0]
    if not isinstance(first, np.ndarray | np.generic) or first.dtype.kind in "OSUV":
        trace.refuse("uses an operation whose result is no array of numbers")
    shape, dtype = first.shape, first.dtype
    if any(result.shape != shape or result.dtype != dtype for result in results):
        trace.refuse("makes results of several shapes or dtypes")
    if isinstance(first, np.generic):
        return np.array(results, dtype)
    return same_layout(trace, np.stack(results), first)  # type: ignore[no-any-return]


def one_row(value: Any, row: int) -> Any:
    """The value with each stand-in replaced by its leaf in one row."""
    if isinstance(value, StandIn):
        return value._array[row]
    if isinstance(value, Mapping):
        return {name: one_row(part, row) for name, part in value.items()}
    if type(value) is tuple:
        return tuple([one_row(part, row) for part in value])
    if type(value) is list:
        return [one_row(part, row) for part in value]
    if isinstance(value, slice):
        parts = (one_row(part, row) for part in (value.start, value.stop, value.step))
        return slice(*parts)
    return value


def first_row(value: Any) -> Any:
    """The value with each stand-in replaced by its leaf in the first row."""
    return one_row(value, 0)


def check_rows(trace: Trace, value: Any) -> None:
    """Refuse stand-ins of another trace, and opaque ones."""
    if isinstance(value, StandIn):
        if isinstance(value, Opaque) or value._trace is not trace:
            trace.refuse("computes with an element that is no array of one shape")
    elif isinstance(value, Mapping):
        for part in value.values():
            check_rows(trace, part)
    elif isinstance(value, list | tuple):
        for part in value:
            check_rows(trace, part)


def same_layout(trace: Trace, result: Any, sample: Any) -> Any:
    """`result`, whose first row is to have the dtype, the shape and the layout of `sample`."""
    if isinstance(result, tuple | list):
        if not isinstance(sample, tuple | list) or len(result) != len(sample):
            trace.refuse("uses an operation that gives something else for all rows")
        pairs = zip(result, sample, strict=True)
        return type(result)([same_layout(trace, *pair) for pair in pairs])
    if not isinstance(sample, np.ndarray | np.generic):
        trace.refuse("uses an operation whose result is no array")
    if result.dtype != sample.dtype or result.shape[1:] != sample.shape:
        trace.refuse("uses an operation that gives another dtype or shape for all rows")
    if _strides(result[:1], 1) != _strides(sample, 0):
        result = _arranged(result, sample)
        if _strides(result[:1], 1) != _strides(sample, 0):
            trace.refuse("uses an operation whose result lies in memory in another order")
    return result


def _arranged(result: NDArray[Any], sample: Any) -> NDArray[Any]:
    """A copy of `result` whose rows have their axes in the order that `sample`'s have in memory."""
    order = [0, *(1 + np.argsort([-abs(stride) for stride in sample.strides], kind="stable"))]
    copied = np.ascontiguousarray(result.transpose(order))
    return copied.transpose(np.argsort(order))


def _strides(array: Any, skip: int) -> list[int]:
    """The strides that matter: those of axes with more than one item."""
    if array.size == 0:
        return []
    sizes = zip(array.strides[skip:], array.shape[skip:], strict=True)
    return [stride for stride, size in sizes if size > 1]
