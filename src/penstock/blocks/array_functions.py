"""What NumPy's functions and an array's methods do to a whole block.

Each takes what the row's function takes, and gives an array with a row axis, or `NotImplemented`
where the function is to be called row by row. `rows.apply` compares the first row's dtype, shape
and layout.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock.blocks import elementwise, indexing, reductions  # noqa: F401  (they fill the tables too)
from penstock.blocks.row_axes import axes_of, axis_of, blocks_of, flat_of
from penstock.blocks.rows import FUNCTIONS, METHODS, Rows, trace_of
from penstock.blocks.trace import StandIn


def _shape(shape: tuple[Any, ...]) -> tuple[int, ...]:
    if len(shape) == 1 and isinstance(shape[0], tuple | list):
        shape = tuple(shape[0])
    return tuple(operator.index(size) for size in shape)


# Shape


def _reshape(a: Rows, *shape: Any, order: str = "C") -> Any:
    if order != "C":
        return NotImplemented
    return a._array.reshape(len(a._array), *_shape(shape))


def _ravel(a: Rows, order: str = "C") -> Any:
    return flat_of(a) if order == "C" else NotImplemented


def _flatten(a: Rows, order: str = "C") -> Any:
    return flat_of(a).copy() if order == "C" else NotImplemented


def _transpose(a: Rows, *axes: Any) -> Any:
    if not axes or axes == (None,):
        order = tuple(range(a.ndim, 0, -1))
    else:
        order = axes_of(_shape(axes), a.ndim)
    return a._array.transpose(0, *order)


def _swapaxes(a: Rows, axis1: int, axis2: int) -> Any:
    return a._array.swapaxes(axis_of(axis1, a.ndim), axis_of(axis2, a.ndim))


def _moveaxis(a: Rows, source: Any, destination: Any) -> Any:
    return np.moveaxis(a._array, axes_of(source, a.ndim), axes_of(destination, a.ndim))


def _squeeze(a: Rows, axis: Any = None) -> Any:
    if axis is None:
        axis = tuple(i for i, size in enumerate(a.shape) if size == 1)
    return a._array.squeeze(axes_of(axis, a.ndim))


def _expand_dims(a: Rows, axis: Any) -> Any:
    count = len(axis) if isinstance(axis, tuple | list) else 1
    return np.expand_dims(a._array, axes_of(axis, a.ndim + count))


def _broadcast_to(a: Rows, shape: Any) -> Any:
    sizes = (operator.index(shape),) if not isinstance(shape, tuple | list) else _shape((shape,))
    array = elementwise.align(a._trace, a, len(sizes))
    return np.broadcast_to(array, (len(array), *sizes))


def _flip(a: Rows, axis: Any = None) -> Any:
    return np.flip(a._array, axes_of(axis, a.ndim))


def _fliplr(a: Rows) -> Any:
    return np.flip(a._array, axis_of(1, a.ndim))


def _flipud(a: Rows) -> Any:
    return np.flip(a._array, axis_of(0, a.ndim))


def _rot90(a: Rows, k: int = 1, axes: Any = (0, 1)) -> Any:
    first, second = axes_of(axes, a.ndim)
    return np.rot90(a._array, operator.index(k), (first, second))


def _roll(a: Rows, shift: Any, axis: Any = None) -> Any:
    if axis is None or isinstance(shift, StandIn):
        return NotImplemented
    return np.roll(
        a._array, shift, axes_of(axis, a.ndim) if isinstance(axis, tuple) else axis_of(axis, a.ndim)
    )


def _pad(a: Rows, pad_width: Any, mode: str = "constant", **how: Any) -> Any:
    plain = mode in ("edge", "reflect", "symmetric", "wrap") and not how
    if mode == "constant" and how.keys() <= {"constant_values"}:
        plain = np.ndim(how.get("constant_values", 0)) == 0
    if not plain or isinstance(pad_width, dict | StandIn):
        return NotImplemented
    widths = np.broadcast_to(np.asarray(pad_width), (a.ndim, 2))
    return np.pad(a._array, [(0, 0), *map(tuple, widths.tolist())], mode, **how)  # type: ignore[call-overload]


def _repeat(a: Rows, repeats: Any, axis: Any = None) -> Any:
    if isinstance(repeats, StandIn):
        return NotImplemented
    if axis is None:
        return np.repeat(flat_of(a), repeats, 1)
    return np.repeat(a._array, repeats, axis_of(axis, a.ndim))


# Several arrays


def _stack(arrays: Any, axis: int = 0) -> Any:
    blocks = blocks_of(list(arrays))
    return np.stack(blocks, axis_of(axis, blocks[0].ndim))


def _concatenate(arrays: Any, axis: Any = 0) -> Any:
    blocks = blocks_of(list(arrays))
    if axis is None:
        return NotImplemented
    return np.concatenate(blocks, axis_of(axis, blocks[0].ndim - 1))


def _where(condition: Any, *values: Any) -> Any:
    trace = trace_of((condition, *values))
    if len(values) != 2:
        trace.refuse("looks for the places where something holds")
    return np.where(*elementwise.aligned(trace, [condition, *values]))


def _clip(a: Any, *bounds: Any, **named: Any) -> Any:
    names = ["a_min", "a_max"] if named.keys() & {"a_min", "a_max"} else ["min", "max"]
    if len(bounds) > 2 or not named.keys() <= set(names):
        return NotImplemented
    both_bounds: list[Any] = [*bounds, *[named.get(name) for name in names[len(bounds) :]]]
    low, high = both_bounds
    trace = trace_of((a, low, high))
    given = [bound for bound in (low, high) if bound is not None]
    array, *limits = elementwise.aligned(trace, [a, *given])
    both = iter(limits)
    low = None if low is None else next(both)
    high = None if high is None else next(both)
    if isinstance(a, Rows) and array.flags.c_contiguous and array.nbytes >= elementwise.POOLED:
        plain = all(isinstance(bound, int | float | None) for bound in (low, high))
        if plain and np.result_type(array, *limits) == array.dtype:
            return np.clip(array, low, high, out=trace.empty(array.shape, array.dtype))
    return np.clip(array, low, high)


def _like(a: Rows, value: Any, dtype: Any) -> Any:
    if isinstance(value, StandIn):
        value = elementwise.align(a._trace, value, a.ndim)
    return np.full_like(a._array, value, dtype)


def _full_like(a: Rows, fill_value: Any, dtype: Any = None) -> Any:
    return _like(a, fill_value, dtype)


def _zeros_like(a: Rows, dtype: Any = None) -> Any:
    return _like(a, 0, dtype)


def _ones_like(a: Rows, dtype: Any = None) -> Any:
    return _like(a, 1, dtype)


# Copies and casts


def _astype(a: Rows, dtype: Any, *, casting: str = "unsafe", copy: bool = True) -> Any:
    if not np.can_cast(a.dtype, dtype, casting):  # type: ignore[arg-type]
        return NotImplemented
    if not copy and a.dtype == np.dtype(dtype):
        return a._array
    return elementwise.cast(a._trace, a._array, dtype)


def _copy(a: Rows, order: str = "C") -> Any:
    return a._array.copy(order) if order in ("C", "K") else NotImplemented  # type: ignore[arg-type]


def _np_copy(a: Rows, order: str = "K", subok: bool = False) -> Any:  # noqa: ARG001
    return _copy(a, order)


def _round(a: Rows, decimals: int = 0) -> Any:
    return a._array.round(operator.index(decimals))


FUNCTIONS |= {
    np.reshape: _reshape,
    np.ravel: _ravel,
    np.transpose: _transpose,
    np.swapaxes: _swapaxes,
    np.moveaxis: _moveaxis,
    np.squeeze: _squeeze,
    np.expand_dims: _expand_dims,
    np.broadcast_to: _broadcast_to,
    np.flip: _flip,
    np.fliplr: _fliplr,
    np.flipud: _flipud,
    np.rot90: _rot90,
    np.roll: _roll,
    np.pad: _pad,
    np.repeat: _repeat,
    np.stack: _stack,
    np.concatenate: _concatenate,
    np.where: _where,
    np.clip: _clip,
    np.full_like: _full_like,
    np.zeros_like: _zeros_like,
    np.ones_like: _ones_like,
    np.copy: _np_copy,
    np.round: _round,
    np.around: _round,
}
METHODS |= {
    "reshape": _reshape,
    "ravel": _ravel,
    "flatten": _flatten,
    "transpose": _transpose,
    "swapaxes": _swapaxes,
    "squeeze": _squeeze,
    "repeat": _repeat,
    "clip": _clip,
    "astype": _astype,
    "copy": _copy,
    "round": _round,
}

_METHODS_BY_ROW = "mean std var dot trace diagonal searchsorted conj conjugate argsort"
_BY_ROW = """
mean std var median percentile quantile average ptp nanmin nanmax nansum nanprod nanmean
nanstd nanvar nanmedian nanpercentile nanargmin nanargmax nancumsum cumulative_sum dot vdot
inner outer tensordot einsum trace diagonal cross kron convolve correlate interp polyval
gradient trapezoid diff ediff1d cov corrcoef sort argsort partition argpartition tile vstack
hstack dstack column_stack real imag angle nan_to_num isclose count_nonzero digitize isin
triu tril diag rollaxis resize append insert atleast_1d atleast_2d atleast_3d linalg.norm
linalg.det linalg.slogdet linalg.inv linalg.pinv linalg.solve linalg.qr linalg.svd
linalg.eigh linalg.eigvalsh linalg.cholesky linalg.matrix_power linalg.lstsq fft.fft
fft.ifft fft.rfft fft.irfft fft.fft2 fft.ifft2 fft.rfft2 fft.fftn fft.ifftn fft.fftshift
fft.ifftshift histogram array_equal
"""
for _name in _METHODS_BY_ROW.split():
    METHODS.setdefault(_name, None)
for _name in _BY_ROW.split():
    try:
        FUNCTIONS.setdefault(operator.attrgetter(_name)(np), None)
    except AttributeError:
        continue  # not in every NumPy that is supported
