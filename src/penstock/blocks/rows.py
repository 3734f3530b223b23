"""`Rows`: the stand-in of a leaf that is an array of one shape in every row."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from penstock.blocks import elementwise
from penstock.blocks.by_row import by_row, first_row, same_layout, same_sharing
from penstock.blocks.trace import StandIn, Trace, marking
from penstock.blocks.warned import reports_errors

Over = Callable[..., Any]
"""An operation over the block: takes what the row's takes, gives arrays with a row axis."""

FUNCTIONS: dict[Any, Over | None] = {}
"""What is done for NumPy's functions; None: the function itself, row by row."""
METHODS: dict[str, Over | None] = {}
"""What is done for an array's methods, likewise."""


class Rows(NDArrayOperatorsMixin, StandIn):
    """An array with a hidden leading row axis: it has the shape, and does the work, of a row."""

    __slots__ = ("_held", "_pending")

    def __init__(self, array: NDArray[Any], trace: Trace, pending: np.dtype[Any] | None = None) -> None:
        self._trace = trace
        self._held = array
        self._pending = pending
        """The dtype that `_held` is yet to be cast to: most ufuncs do that on the way."""

    @property
    def _array(self) -> NDArray[Any]:
        if self._pending is not None:
            self._held = elementwise.cast(self._trace, self._held, self._pending)
            self._pending = None
        return self._held

    # What is the same for all rows

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a row."""
        return self._held.shape[1:]

    @property
    def ndim(self) -> int:
        """The rank of a row."""
        return self._held.ndim - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a row."""
        return self._held.dtype if self._pending is None else self._pending

    @property
    def size(self) -> int:
        """How many items a row has."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def itemsize(self) -> int:
        """The bytes of one item."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of a row."""
        return self.size * self.dtype.itemsize

    @property
    def T(self) -> Rows:  # noqa: N802
        """The row with its axes reversed."""
        return self.transpose()  # type: ignore[no-any-return]

    @property
    def real(self) -> Any:
        """The real part."""
        return apply(np.real, None, (self,), {})

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return apply(np.imag, None, (self,), {})

    def __hash__(self) -> int:
        return StandIn.__hash__(self)

    def __len__(self) -> int:
        if self.ndim == 0:
            self._refuse("takes the length of a scalar")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    # Operations

    @marking
    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """The row as another dtype."""
        if args or kwargs:
            return apply(_astype, METHODS["astype"], (self, dtype, *args), kwargs)
        dtype = np.dtype(dtype)
        array = self._array
        if np.can_cast(array.dtype, dtype, "same_kind") and not reports_errors():
            # It may be cast later, and many a ufunc does so on the way; so nothing may write to it.
            self._trace.protected.append(array)
            return Rows(array, self._trace, dtype)
        return Rows(elementwise.cast(self._trace, array, dtype), self._trace)

    def _computed(self, ufunc: np.ufunc, values: list[Any], dtypes: tuple[np.dtype[Any], ...]) -> Rows | None:  # noqa: ARG002
        """What a ufunc makes of it, where that is put off; None otherwise."""
        return None

    def _turned(self, coin: NDArray[np.bool_], axis: int) -> Rows | None:  # noqa: ARG002
        """The rows mirrored along an axis where the coin says so, where that is put off; None otherwise."""
        return None

    def __getattr__(self, name: str) -> Any:
        if name in METHODS:
            call, over = operator.methodcaller, METHODS[name]

            def method(*args: Any, **kwargs: Any) -> Any:
                # `apply` marks the trace.
                def plain(row: Any, *rest: Any, **named: Any) -> Any:
                    return call(name, *rest, **named)(row)

                return apply(plain, over, (self, *args), kwargs)

            return method
        return StandIn.__getattr__(self, name)

    @marking
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        trace = self._trace
        if method == "__call__":
            return wrapped(elementwise.call(trace, ufunc, inputs, kwargs), trace)
        if method == "at" or "out" in kwargs:
            self._refuse(f"uses {ufunc.__name__}.{method}")
        return wrapped(by_row(trace, getattr(ufunc, method), inputs, kwargs), trace)

    @marking
    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if function not in FUNCTIONS:
            self._refuse(f"uses np.{function.__name__}")
        return apply(function, FUNCTIONS[function], args, kwargs)

    @marking
    def __pow__(self, other: Any) -> Any:
        return wrapped(elementwise.power(self._trace, self, other), self._trace)

    @marking
    def __rpow__(self, other: Any) -> Any:
        return wrapped(elementwise.power(self._trace, other, self), self._trace)

    @marking
    def __matmul__(self, other: Any) -> Any:
        return wrapped(by_row(self._trace, operator.matmul, (self, other), {}), self._trace)

    @marking
    def __rmatmul__(self, other: Any) -> Any:
        return wrapped(by_row(self._trace, operator.matmul, (other, self), {}), self._trace)

    @marking
    def __getitem__(self, key: Any) -> Any:
        return apply(operator.getitem, METHODS["__getitem__"], (self, key), {})

    @marking
    def __setitem__(self, key: Any, value: Any) -> None:
        elementwise.check_writable(self._trace, self)
        over = METHODS["__setitem__"]
        assert over is not None
        over(self, key, value)


def _astype(row: Any, *args: Any, **kwargs: Any) -> Any:
    return row.astype(*args, **kwargs)


def _in_place(name: str, ufunc: np.ufunc) -> Callable[[Rows, Any], Rows]:
    def operate(self: Rows, other: Any) -> Rows:
        # A row of rank 0 is a NumPy scalar, which gives a new one.
        if self.ndim == 0:
            if any(np.may_share_memory(self._held, box) for box in self._trace.boxes):
                self._refuse("changes an array of rank 0 in place")
            return ufunc(self, other)  # type: ignore[no-any-return]
        return ufunc(self, other, out=(self,))  # type: ignore[no-any-return]

    operate.__name__ = name
    return operate


for _name, _ufunc in {
    "iadd": np.add,
    "isub": np.subtract,
    "imul": np.multiply,
    "itruediv": np.true_divide,
    "ifloordiv": np.floor_divide,
    "imod": np.remainder,
    "ilshift": np.left_shift,
    "irshift": np.right_shift,
    "iand": np.bitwise_and,
    "ixor": np.bitwise_xor,
    "ior": np.bitwise_or,
}.items():
    setattr(Rows, f"__{_name}__", _in_place(f"__{_name}__", _ufunc))


def _no_in_place(self: Rows, other: Any) -> Any:  # noqa: ARG001
    self._refuse("changes an element with **= or @=")


for _name in ("__ipow__", "__imatmul__"):
    setattr(Rows, _name, _no_in_place)


def wrapped(result: Any, trace: Trace) -> Any:
    """Arrays with a row axis as stand-ins; a stand-in stays what it is."""
    if isinstance(result, tuple):
        return tuple(wrapped(part, trace) for part in result)
    if isinstance(result, list):
        return [wrapped(part, trace) for part in result]
    if isinstance(result, np.ndarray):
        trace.largest = max(trace.largest, result.nbytes)
        return Rows(result, trace)
    return result


def apply(plain: Callable[..., Any], over: Over | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Do `over` for the block, and hold the first row to what `plain` gives for it."""
    trace = trace_of(args, kwargs)
    try:
        return _apply(trace, plain, over, args, kwargs)
    except BaseException as error:
        trace.raised(error)
        raise


def _apply(
    trace: Trace,
    plain: Callable[..., Any],
    over: Over | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    if kwargs.get("out") is not None:
        trace.refuse("gives a result with out=")
    kwargs = {name: value for name, value in kwargs.items() if value is not np._NoValue}
    try:
        result = NotImplemented if over is None else over(*args, **kwargs)
    except np.exceptions.AxisError:
        result = NotImplemented  # NumPy takes some axes that a scalar has not
    if result is NotImplemented:
        return wrapped(by_row(trace, plain, args, kwargs), trace)
    first = first_row((args, kwargs))
    sample = plain(*first[0], **first[1])
    result = same_layout(trace, result, sample)
    return wrapped(same_sharing(trace, result, sample, (args, kwargs), first), trace)


def trace_of(*values: Any) -> Trace:
    """The trace of the stand-ins among these values."""
    for value in values:
        if isinstance(value, StandIn):
            return value._trace
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list | tuple):
            try:
                return trace_of(*value)
            except LookupError:
                continue
    raise LookupError("no stand-in among the values")
