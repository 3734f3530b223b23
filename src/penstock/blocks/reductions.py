"""Reductions of each row over a whole block: those that do not depend on the order, or take it row by row.

NumPy adds up what lies side by side in the same order, whether there is one such line or many.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.blocks.row_axes import axes_of, axis_of, flat_of
from penstock.blocks.rows import FUNCTIONS, METHODS, Rows


def _extreme(name: str) -> Any:
    def reduce(a: Rows, axis: Any = None, **how: Any) -> Any:
        if not how.keys() <= {"keepdims"}:
            return NotImplemented
        array = a._array
        result = getattr(array, name)(axis=axes_of(axis, a.ndim), **how)
        if array.dtype.kind in "fc":
            # Which of two zeros, or of two NaNs, is left depends on the order after all.
            odd = (result == 0) & np.signbit(array).any() | np.isnan(result)
            if array.dtype.kind == "c" or odd.any():
                return NotImplemented
        return result

    return reduce


def _either(name: str) -> Any:
    def reduce(a: Rows, axis: Any = None, **how: Any) -> Any:
        if not how.keys() <= {"keepdims"}:
            return NotImplemented
        return getattr(a._array, name)(axis=axes_of(axis, a.ndim), **how)

    return reduce


def _total(name: str) -> Any:
    in_line = _in_line(name)

    def reduce(a: Rows, axis: Any = None, **how: Any) -> Any:
        if not how.keys() <= {"keepdims"}:
            return NotImplemented
        if a.dtype.kind not in "biu":
            return in_line(a, axis, **how)
        return getattr(a._array, name)(axis=axes_of(axis, a.ndim), **how)

    return reduce


def _in_line(name: str) -> Any:
    """A reduction of floats over whole rows, or over their last axis, where items lie side by side."""

    def reduce(a: Rows, axis: Any = None, *rest: Any, **how: Any) -> Any:
        if rest or not how.keys() <= {"keepdims"} or a.dtype not in FLOATS or not a.size or not a.ndim:
            return NotImplemented
        array = a._array
        if axis is None and array[0].flags.c_contiguous:
            result = getattr(flat_of(a), name)(axis=1)
            return result.reshape(-1, *(1,) * a.ndim) if how.get("keepdims") else result
        if array.flags.c_contiguous and type(axis) is int and axis_of(axis, a.ndim) == a.ndim:
            return getattr(array, name)(axis=-1, **how)
        return NotImplemented

    return reduce


def _sorted(name: str) -> Any:
    def sort(a: Rows, axis: Any = -1, *rest: Any, **how: Any) -> Any:
        if rest or how or a.dtype.kind not in "biuf" or type(axis) is not int:
            return NotImplemented
        return getattr(np, name)(a._array, axis_of(axis, a.ndim))

    return sort


def _place(name: str) -> Any:
    def reduce(a: Rows, axis: Any = None, **how: Any) -> Any:
        if how or a.dtype.kind == "c":
            return NotImplemented
        if axis is None:
            return getattr(flat_of(a), name)(axis=1)
        return getattr(a._array, name)(axis=axis_of(axis, a.ndim))

    return reduce


def _running(name: str) -> Any:
    def accumulate(a: Rows, axis: Any = None, dtype: Any = None) -> Any:
        if axis is None:
            return getattr(flat_of(a), name)(axis=1, dtype=dtype)
        return getattr(a._array, name)(axis=axis_of(axis, a.ndim), dtype=dtype)

    return accumulate


FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
"""Others are cast on the way, some at a time."""

FUNCTIONS |= {
    np.mean: _in_line("mean"),
    np.std: _in_line("std"),
    np.var: _in_line("var"),
    np.sort: _sorted("sort"),
    np.argsort: _sorted("argsort"),
    np.min: _extreme("min"),
    np.max: _extreme("max"),
    np.amin: _extreme("min"),
    np.amax: _extreme("max"),
    np.any: _either("any"),
    np.all: _either("all"),
    np.argmax: _place("argmax"),
    np.argmin: _place("argmin"),
    np.sum: _total("sum"),
    np.prod: _total("prod"),
    np.cumsum: _running("cumsum"),
    np.cumprod: _running("cumprod"),
}
METHODS |= {
    "mean": _in_line("mean"),
    "std": _in_line("std"),
    "var": _in_line("var"),
    "argsort": _sorted("argsort"),
    "min": _extreme("min"),
    "max": _extreme("max"),
    "any": _either("any"),
    "all": _either("all"),
    "argmax": _place("argmax"),
    "argmin": _place("argmin"),
    "sum": _total("sum"),
    "prod": _total("prod"),
    "cumsum": _running("cumsum"),
    "cumprod": _running("cumprod"),
}
