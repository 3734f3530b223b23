"""Element-wise operations over a block: the same to the last bit as row by row."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.by_row import by_row, first_row, same_layout
from penstock.blocks.extended import is_extended
from penstock.blocks.trace import Opaque, StandIn, Trace
from penstock.blocks.warned import reports_errors

POOLED = 128 << 10
"""Results of so many bytes come from the op's pool: new pages would cost more than the work."""

_ROUNDED = """
add subtract multiply divide floor_divide remainder fmod divmod negative positive absolute
fabs sign rint floor ceil trunc sqrt square reciprocal conjugate equal not_equal less
less_equal greater greater_equal logical_and logical_or logical_xor logical_not bitwise_and
bitwise_or bitwise_xor invert left_shift right_shift bitwise_count maximum minimum
isnan isfinite isinf isnat signbit copysign nextafter spacing heaviside gcd lcm ldexp frexp
modf degrees radians deg2rad rad2deg
"""
ROUNDED = frozenset(getattr(np, name) for name in _ROUNDED.split())
"""Their results are exact, or rounded as IEEE 754 says: in whatever company they are computed."""
_BY_ROW = frozenset((np.fmax, np.fmin))
"""Which of +0 and -0 they give depends on how many numbers are computed together."""
_COMPLEX = frozenset(
    (
        *(np.add, np.subtract, np.negative, np.positive, np.conjugate, np.equal, np.not_equal),
        *(np.isnan, np.isinf, np.isfinite),
    )
)
_KEYWORDS = frozenset(["dtype", "casting", "out", "subok"])


def call(trace: Trace, ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc over the block; arrays with a row axis, or the stand-in that was given as `out`."""
    if not kwargs.keys() <= _KEYWORDS:
        trace.refuse(f"uses np.{ufunc.__name__} with {', '.join(kwargs)}")
    if any(isinstance(value, Opaque) for value in inputs):
        trace.refuse("computes with an element that is no array of one shape")
    if ufunc.signature is not None:
        return by_row(trace, ufunc, inputs, kwargs)
    values = [_constant(trace, value) for value in inputs]
    out = kwargs.get("out")
    dtypes, exact = _loop(trace, ufunc, values, kwargs.get("dtype"))
    if ufunc is np.power and _ambiguous(values, dtypes):
        trace.refuse("raises a NumPy value to the power of an element")
    _check_overflow(trace, values, dtypes)
    if not exact:
        if out is not None:
            trace.refuse(f"uses np.{ufunc.__name__} in place")
        return by_row(trace, ufunc, inputs, kwargs)
    if out is not None:
        return _in_place(trace, ufunc, values, kwargs)
    return _fresh(trace, ufunc, values, kwargs, dtypes)


def _fresh(
    trace: Trace,
    ufunc: np.ufunc,
    values: list[Any],
    kwargs: dict[str, Any],
    dtypes: tuple[np.dtype[Any], ...],
) -> Any:
    if not kwargs:
        for value in values:
            later = value._computed(ufunc, values, dtypes) if isinstance(value, StandIn) else None
            if later is not None:
                return later
    pending = any(isinstance(value, StandIn) and value._pending is not None for value in values)
    if pending and not kwargs and all(map(_castable, values, dtypes)):
        arrays = aligned(trace, values, held=True)
        kwargs = {"signature": dtypes, "casting": "same_kind"}
    else:
        arrays = aligned(trace, values)
    if not all(_in_order(array) for array in arrays):
        sample = ufunc(*first_row(values))
        return same_layout(trace, ufunc(*arrays, **kwargs), sample)
    if ufunc.nout == 1:
        shape = _broadcast(arrays)
        if _size(shape) * dtypes[-1].itemsize >= POOLED:
            return ufunc(*arrays, out=trace.empty(shape, dtypes[-1]), **kwargs)
    return ufunc(*arrays, **kwargs)


def _castable(value: Any, to: np.dtype[Any]) -> bool:
    """Whether the ufunc needs no cast of this operand but one that is pending, which it may do."""
    if isinstance(value, StandIn | np.ndarray | np.generic):
        return bool(value.dtype == to)
    return isinstance(value, int | float)


def _broadcast(arrays: list[Any]) -> tuple[int, ...]:
    shapes = {array.shape for array in arrays if isinstance(array, np.ndarray)}
    return shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)


def _in_place(trace: Trace, ufunc: np.ufunc, values: list[Any], kwargs: dict[str, Any]) -> Any:
    (target,) = kwargs["out"]
    if not isinstance(target, StandIn) or isinstance(target, Opaque) or ufunc.nout != 1:
        trace.refuse("writes what differs from row to row into one array")
    check_writable(trace, target)
    into: NDArray[Any] = target._array
    *arrays, _ = aligned(trace, [*values, target])
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    if np.broadcast_shapes(*[np.shape(array) for array in arrays]) != into.shape:
        trace.refuse("changes an element in place to another shape")
    ufunc(*arrays, out=into, **rest)
    return target


def check_writable(trace: Trace, target: StandIn) -> None:
    """Refuse to write to the block's own arrays, some rows of which may be written to and some not,
    and to what is protected."""
    array: NDArray[Any] = target._array
    if any(np.may_share_memory(array, other) for other in (*trace.sources, *trace.protected)):
        trace.refuse("changes an element in place")


def _check_overflow(trace: Trace, values: list[Any], dtypes: tuple[np.dtype[Any], ...]) -> None:
    """Refuse whole numbers where an overflow raises: NumPy's scalars tell of it, its arrays do not."""
    scalars = not any(getattr(value, "ndim", 0) for value in values)
    if scalars and dtypes[0].kind in "iu" and reports_errors():
        trace.refuse("computes with whole numbers, and raises when they overflow")


def power(trace: Trace, left: Any, right: Any) -> Any:
    """`left ** right`, whose rounding differs between NumPy's scalars and its arrays."""
    values = [_constant(trace, left), _constant(trace, right)]
    dtypes, exact = _loop(trace, np.power, values, None)
    whole = all(dtype.kind in "biu" for dtype in dtypes)
    if whole and not (isinstance(right, int) and right >= 0):
        trace.may_raise = True  # whole numbers have no negative powers
    arrays_only = all(value.ndim for value in values if isinstance(value, StandIn))
    squared = isinstance(right, int | float) and right == 2 and dtypes[0].kind == "f"
    if arrays_only and (squared or exact):
        sample = operator.pow(*first_row(values))
        return same_layout(trace, operator.pow(*aligned(trace, values)), sample)
    if whole:
        sample = operator.pow(*first_row(values))
        return same_layout(trace, np.power(*aligned(trace, values)), sample)
    return by_row(trace, operator.pow, (left, right), {})


def _ambiguous(values: list[Any], dtypes: tuple[np.dtype[Any], ...]) -> bool:
    """Whether this may be `np.power(a, x)` or `a ** x`: NumPy asks for the ufunc in both."""
    left, right = values
    outside = isinstance(left, np.ndarray | np.generic)
    floats = any(dtype.kind in "fc" for dtype in dtypes)
    return outside and floats and isinstance(right, StandIn) and right.ndim == 0


def cast(trace: Trace, array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """`array` as another dtype, always a copy."""
    dtype = np.dtype(dtype)
    if dtype.kind in "OSUV" and not is_extended(dtype):
        trace.refuse(f"makes {dtype} of an element")
    if array.size * dtype.itemsize < POOLED or not array.flags.c_contiguous:
        return array.astype(dtype)
    out = trace.empty(array.shape, dtype)
    np.copyto(out, array, casting="unsafe")
    return out


def aligned(trace: Trace, values: list[Any], *, held: bool = False) -> list[Any]:
    """Operands that broadcast as their rows would: what a row lacks comes after the row axis."""
    rank = max([getattr(value, "ndim", 0) for value in values])
    return [align(trace, value, rank, held=held) for value in values]


def align(trace: Trace, value: Any, rank: int, *, held: bool = False) -> Any:
    """A stand-in's array with a row of that rank, `held` before any cast; a constant as it is."""
    if not isinstance(value, StandIn):
        return value
    if isinstance(value, Opaque) or value._trace is not trace:
        trace.refuse("computes with elements of two calls")
    array: NDArray[Any] = value._held if held else value._array
    missing = rank + 1 - array.ndim
    if missing <= 0:
        return array
    return array.reshape(array.shape[0], *(1,) * missing, *array.shape[1:])


def _constant(trace: Trace, value: Any) -> Any:
    if isinstance(value, StandIn | np.ndarray | np.generic | bool | int | float | complex):
        return value
    if not isinstance(value, list | tuple):
        trace.refuse(f"computes with a {type(value).__name__}")
    return np.asarray(value)


def _loop(
    trace: Trace, ufunc: np.ufunc, values: list[Any], dtype: Any
) -> tuple[tuple[np.dtype[Any], ...], bool]:
    """The dtypes in which NumPy would compute, and whether it may compute all rows together."""
    kinds = tuple([_kind(value) for value in values])
    found = _resolved(ufunc, kinds, None if dtype is None else np.dtype(dtype))
    if found is None:
        trace.refuse("computes with text or objects")
    return found


@functools.lru_cache(maxsize=1024)
def _resolved(
    ufunc: np.ufunc, kinds: tuple[Any, ...], dtype: np.dtype[Any] | None
) -> tuple[tuple[np.dtype[Any], ...], bool] | None:
    if any(getattr(kind, "kind", "f") in "OSUVT" for kind in kinds):
        return None
    asked = (*kinds, *(None,) * ufunc.nout)
    if dtype is None:
        dtypes = ufunc.resolve_dtypes(asked)
    else:
        signature = (*(None,) * ufunc.nin, *(dtype,) * ufunc.nout)
        dtypes = ufunc.resolve_dtypes(asked, signature=signature, casting="same_kind")
    return dtypes, _exact(ufunc, dtypes)


def _kind(value: Any) -> Any:
    """A dtype, or the type of a Python number, which takes the dtype of what it meets."""
    if isinstance(value, bool):
        return np.dtype(bool)
    if isinstance(value, int | float | complex) and not isinstance(value, np.generic):
        return type(value)
    return value.dtype


def _exact(ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> bool:
    """Whether a row's result does not depend on how many rows are computed together."""
    kinds = {dtype.kind for dtype in dtypes}
    if "c" in kinds:
        return ufunc in _COMPLEX
    if ufunc in ROUNDED or kinds <= set("biumM"):
        return True
    if ufunc in _BY_ROW:
        return False
    if not all(dtype.char in "fd" for dtype in dtypes):
        return False
    return _steady(ufunc, dtypes[: ufunc.nin])


@functools.lru_cache(maxsize=256)
def _steady(ufunc: np.ufunc, dtypes: tuple[np.dtype[Any], ...]) -> bool:
    """Whether this machine computes a ufunc the same way one by one, a few at a time, and many.

    NumPy has several implementations of exp or sin, for vectors and for single numbers, and which
    it takes depends on the processor. They differ in the last bit of a part of the numbers.
    """
    random = np.random.default_rng(20240229)
    count = 3000
    inputs = []
    for dtype in dtypes:
        wide = random.standard_normal(count) * np.exp2(random.uniform(-8, 8, count))
        wide[::2] = random.uniform(-1, 1, count // 2)
        inputs.append(wide.astype(dtype))
    with np.errstate(all="ignore"):
        many = np.asarray(ufunc(*inputs))
        single = [ufunc(*items) for items in zip(*inputs, strict=True)]
        few = [ufunc(*[x[i : i + 3] for x in inputs]) for i in range(0, count, 3)]
        apart = np.asarray(ufunc(*[np.repeat(x, 2)[::2] for x in inputs]))
    expected = many.tobytes()
    others = (np.array(single, many.dtype), np.concatenate(few), apart)
    return all(other.tobytes() == expected for other in others)


def _in_order(value: Any) -> bool:
    return not isinstance(value, np.ndarray) or value.flags.c_contiguous


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
