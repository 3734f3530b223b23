"""Reductions of each row that do not depend on the order, over a whole block."""

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
    def reduce(a: Rows, axis: Any = None, **how: Any) -> Any:
        if not how.keys() <= {"keepdims"} or a.dtype.kind not in "biu":
            return NotImplemented
        return getattr(a._array, name)(axis=axes_of(axis, a.ndim), **how)

    return reduce


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


FUNCTIONS |= {
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
