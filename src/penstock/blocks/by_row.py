"""Operations done row by row inside a call over a block: their last bit depends on the order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
    results = []
    views = False
    for row in range(trace.rows):
        own_args, own_kwargs = one_row(args, row), one_row(kwargs, row)
        results.append(function(*own_args, **own_kwargs))
        views = views or _shares(results[-1], (own_args, own_kwargs))
    first: Any = results[0]
    stacked: Any
    if isinstance(first, tuple):
        stacked = tuple(_stacked(trace, [result[i] for result in results]) for i in range(len(first)))
    else:
        stacked = _stacked(trace, results)
    if views:
        _protect(trace, stacked, (args, kwargs))
    return stacked


def _stacked(trace: Trace, results: list[Any]) -> NDArray[Any]:
    first = results[0]
    if not isinstance(first, np.ndarray | np.generic) or first.dtype.kind in "OSUV":
        trace.refuse("uses an operation whose result is no array of numbers")
    shape, dtype = first.shape, first.dtype
    if any(result.shape != shape or result.dtype != dtype for result in results):
        trace.refuse("makes results of several shapes or dtypes")
    if isinstance(first, np.generic):
        return np.array(results, dtype)
    stacked = same_layout(trace, np.stack(results), first)
    if not shape:
        trace.boxes.append(stacked)
    return stacked  # type: ignore[no-any-return]


def _arrays(value: Any) -> Iterator[NDArray[Any]]:
    """The arrays in a value, those of stand-ins with their row axis."""
    if isinstance(value, Opaque):
        return
    if isinstance(value, StandIn):
        yield value._array
    elif isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _arrays(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _arrays(part)


def _shares(result: Any, given: Any) -> bool:
    """Whether a result is a view of something given: a write to one is a write to the other."""
    if isinstance(result, tuple | list):
        return any(_shares(part, given) for part in result)
    # What is given was indexed out of a block, or made read-only: it is a view itself.
    if not isinstance(result, np.ndarray) or result.base is None:
        return False
    return any(np.may_share_memory(result, array) for array in _arrays(given))


def _protect(trace: Trace, result: Any, given: Any) -> None:
    """Let nothing write to a result that should be a view, nor to what it should be a view of."""
    trace.protected += _arrays(result)
    trace.protected += _arrays(given)


def same_sharing(trace: Trace, result: Any, sample: Any, given: Any, first: Any) -> Any:
    """`result`, which is a view of what was given where `sample` is, and nowhere else."""
    if isinstance(result, tuple | list):
        parts = zip(result, sample, strict=True)
        return type(result)([same_sharing(trace, *pair, given, first) for pair in parts])
    views = _shares(sample, first)
    if _shares(result, given) and not views:
        result = result.copy("K")  # an item of an array is a NumPy scalar, and never changes
    elif views and not _shares(result, given):
        _protect(trace, result, given)
    if isinstance(sample, np.ndarray) and not sample.shape:
        trace.boxes.append(result)
    return result


def one_row(value: Any, row: int) -> Any:
    """The value with each stand-in replaced by its leaf in one row; nothing may be written to it."""
    if isinstance(value, StandIn):
        return _read_only(value._array[row])
    if isinstance(value, np.ndarray):
        return _read_only(value.view())
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


def _read_only(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        leaf.setflags(write=False)
    return leaf


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
