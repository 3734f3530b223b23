"""Parts of each row: indexing, gathering and setting items, over a whole block."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.blocks import elementwise
from penstock.blocks.row_axes import axis_of, blocks_of, flat_of
from penstock.blocks.rows import FUNCTIONS, METHODS, Rows, trace_of
from penstock.blocks.trace import StandIn


def _take(a: Rows, indices: Any, axis: Any = None, out: None = None, mode: str = "raise") -> Any:  # noqa: ARG001
    a._trace.may_raise = True
    if isinstance(indices, StandIn):
        return NotImplemented
    if axis is None:
        return np.take(flat_of(a), indices, 1, mode=mode)  # type: ignore[call-overload]
    return np.take(a._array, indices, axis_of(axis, a.ndim), mode=mode)  # type: ignore[call-overload]


def _take_along_axis(arr: Any, indices: Any, axis: Any) -> Any:
    if axis is None:
        return NotImplemented
    trace_of((arr, indices)).may_raise = True
    array, places = blocks_of([arr, indices])
    return np.take_along_axis(array, places, axis_of(axis, array.ndim - 1))


def _searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    if isinstance(a, StandIn):
        return NotImplemented
    return np.searchsorted(a, v._array, side)  # type: ignore[call-overload]


_BASIC = (int, np.integer, slice, type(Ellipsis), type(None))


def _getitem(a: Rows, key: Any) -> Any:
    parts = key if type(key) is tuple else (key,)
    if all(_is_basic(part) for part in parts):
        return a._array[(slice(None), *parts)]
    a._trace.may_raise = True
    if any(isinstance(part, StandIn) for part in parts):
        return _gather(a, parts)
    fancy = [part for part in parts if isinstance(part, list | np.ndarray)]
    others = [part for part in parts if not isinstance(part, list | np.ndarray)]
    if len(fancy) == 1 and all(isinstance(part, slice | type(...)) for part in others):
        return a._array[(slice(None), *parts)]
    return NotImplemented


def _is_basic(part: Any) -> bool:
    if isinstance(part, slice):
        ends = (part.start, part.stop, part.step)
        return all(end is None or isinstance(end, int | np.integer) for end in ends)
    return isinstance(part, _BASIC) and not isinstance(part, bool)


def _gather(a: Rows, parts: tuple[Any, ...]) -> Any:
    """`a[i, j]` where some of the numbers differ from row to row."""
    trace = a._trace
    for part in parts:
        if isinstance(part, StandIn) and not (isinstance(part, Rows) and part.dtype.kind in "iu"):
            trace.refuse("selects by a mask that differs from row to row")
        if not isinstance(part, StandIn | int | np.integer) or isinstance(part, bool):
            return NotImplemented
    places = elementwise.aligned(trace, list(parts))
    rank = max(np.ndim(place) for place in places) - 1
    rows = np.arange(trace.rows).reshape(-1, *(1,) * rank)
    return a._array[(rows, *places)]


def _setitem(a: Rows, key: Any, value: Any) -> None:
    trace = a._trace
    parts = key if type(key) is tuple else (key,)
    if len(parts) == 1 and isinstance(key, Rows) and key.dtype == bool and np.ndim(value) == 0:
        if key.shape != a.shape or isinstance(value, StandIn):
            trace.refuse("sets items by a mask that differs from row to row")
        a._array[key._array] = value
        return
    if not all(_is_basic(part) for part in parts):
        trace.refuse("sets items by numbers")
    place = a._array[(slice(None), *parts)]
    if isinstance(value, StandIn):
        if value.ndim > place.ndim - 1:
            trace.refuse("sets items to something of a higher rank")
        value = elementwise.align(trace, value, place.ndim - 1)
    elif np.ndim(value) > place.ndim - 1:
        trace.refuse("sets items to something of a higher rank")
    a._array[(slice(None), *parts)] = value


FUNCTIONS |= {
    np.take: _take,
    np.take_along_axis: _take_along_axis,
    np.searchsorted: _searchsorted,
}
METHODS |= {
    "take": _take,
    "__getitem__": _getitem,
    "__setitem__": _setitem,
}
