"""`Rows`: what is done for all rows at once is, bit for bit, what is done for each."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import penstock as ps
import penstock.blocks.array_functions
from penstock.blocks.columns import ObjectColumn
from penstock.blocks.rows import Rows
from penstock.blocks.trace import NotVectorizable, Opaque, Trace

ROWS = 6
Function = Callable[..., Any]


def over_block(function: Function, *arrays: Any) -> Any:
    """The result of one call with stand-ins, as an array with a row axis."""
    trace = Trace(len(arrays[0]))
    trace.sources.extend(arrays)
    result = function(*[Rows(array, trace) for array in arrays])
    assert trace.failed is None, trace.failed
    if isinstance(result, tuple):
        return tuple(part._array for part in result)
    assert isinstance(result, Rows)
    # What a row says of itself is what it is.
    assert result.shape == result._array.shape[1:]
    assert result.dtype == result._array.dtype
    return result._array


def check(function: Function, *arrays: Any) -> None:
    """Hold a call over the block to a call a row."""
    with np.errstate(all="ignore"):
        expected = [function(*row) for row in zip(*arrays, strict=True)]
        try:
            got = over_block(function, *arrays)
        except NotVectorizable:
            return  # to refuse is always right
    parts = got if isinstance(got, tuple) else (got,)
    for i, row in enumerate(expected):
        for part, wanted in zip(parts, row if isinstance(got, tuple) else (row,), strict=True):
            wanted = np.asarray(wanted)
            assert part[i].dtype == wanted.dtype
            assert part[i].shape == wanted.shape
            assert bits(part[i]) == bits(wanted), (i, part[i], wanted)


def bits(array: Any) -> bytes:
    """What an array is, to the last bit; but which of two NaNs comes of both is left to the processor."""
    array = np.array(array)
    if array.dtype.kind in "fc":
        parts = array.reshape(-1).view(array.real.dtype)
        parts[np.isnan(parts)] = np.nan
    return array.tobytes()


def must(function: Function, *arrays: Any) -> None:
    """As `check`, and it must not be refused."""
    with np.errstate(all="ignore"):
        over_block(function, *arrays)
    check(function, *arrays)


DTYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64"]
FLOATS = ["float16", "float32", "float64"]


def arrays(dtypes: list[str], ranks: tuple[int, int] = (0, 3)) -> st.SearchStrategy[Any]:
    shapes = hnp.array_shapes(min_dims=ranks[0], max_dims=ranks[1], min_side=1, max_side=5)
    if ranks[0] == 0:
        shapes = st.just(()) | shapes
    return st.tuples(st.sampled_from(dtypes), shapes).flatmap(
        lambda pair: hnp.arrays(pair[0], (ROWS, *pair[1]))
    )


CONSTANTS: list[Any] = [0, 1, 2, 3, -1, 0.5, 2.0, 1.7, True, np.float32(3), np.int8(2), np.arange(1, 3)]
BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.lt, operator.le, operator.eq, operator.ne, operator.and_, operator.or_, operator.xor),
    *(np.maximum, np.minimum, np.fmax, np.fmin, np.copysign, np.hypot, np.arctan2, np.logaddexp),
    *(operator.pow, np.power, np.fmod, divmod, np.left_shift, np.heaviside),
]
UNARY = [
    *(operator.neg, operator.pos, operator.invert, operator.abs, np.sqrt, np.exp, np.log, np.sin),
    *(np.tanh, np.square, np.sign, np.floor, np.rint, np.isnan, np.cbrt, np.expm1, np.reciprocal),
    *(np.logical_not, np.signbit, np.spacing, np.degrees, np.modf, np.frexp),
]
CALLS: dict[str, Function] = {
    "sum": lambda x: x.sum(),
    "sum of an axis": lambda x: x.sum(axis=-1),
    "mean": lambda x: x.mean(),
    "mean kept": lambda x: x.mean(axis=0, keepdims=True),
    "std": lambda x: np.std(x),
    "std kept": lambda x: (x * 0.1).std(keepdims=True),
    "mean of the last axis": lambda x: np.mean(x * 0.1, axis=-1),
    "mean of the last axis, kept": lambda x: x - (x * np.float32(0.1)).mean(-1, keepdims=True),
    "variance of the last axis": lambda x: (x * 0.1).var(axis=x.ndim - 1),
    "sum of items with gaps": lambda x: (x * 0.1)[..., ::2].sum() + (x * 0.1)[1:].mean(),
    "product of floats": lambda x: np.prod(x * 0.1 + 0.9, axis=-1),
    "sorted backwards": lambda x: np.sort(x * -0.1),
    "sorted along the first axis": lambda x: np.sort(x, axis=0),
    "order": lambda x: np.argsort(x * -0.1) + np.argsort(x, axis=0),
    "mean of a dtype": lambda x: np.mean(x, -1, np.float32) + np.sort(x, -1, "stable")[..., 0],
    "stable order": lambda x: np.argsort(x, kind="stable"),
    "var": lambda x: x.var(axis=0),
    "prod": lambda x: np.prod(x),
    "min": lambda x: x.min(),
    "max of an axis": lambda x: np.max(x, axis=0),
    "max of all axes": lambda x: np.max(x, axis=tuple(range(x.ndim))),
    "any": lambda x: x.any(),
    "all of an axis": lambda x: np.all(x, axis=-1),
    "argmax": lambda x: x.argmax(),
    "argmin of an axis": lambda x: np.argmin(x, axis=0),
    "cumsum": lambda x: x.cumsum(),
    "cumsum of an axis": lambda x: np.cumsum(x, axis=-1),
    "cumprod": lambda x: np.cumprod(x, axis=0),
    "normalised": lambda x: (x - x.mean()) / (x.std() + 1e-6),
    "transposed": lambda x: x.T,
    "transposed sum": lambda x: (x.T * 0.1).sum(),
    "transposed product": lambda x: x.T * 1.5 + x.T,
    "reshaped": lambda x: x.reshape(-1),
    "reshaped too": lambda x: np.reshape(x, (1, x.size)),
    "ravelled": lambda x: x.T.ravel(),
    "flattened": lambda x: x.flatten() * 2,
    "first": lambda x: x[0],
    "last": lambda x: x[-1],
    "reversed": lambda x: x[::-1],
    "reversed within": lambda x: x[..., ::-1],
    "new axis": lambda x: x[None],
    "new last axis": lambda x: x[..., None],
    "whole": lambda x: x[...],
    "items": lambda x: x[[0, 0]],
    "items within": lambda x: x[..., [0, 0]],
    "items within, summed": lambda x: (x[..., [0, 0]] * 0.1).sum(),
    "iterated": lambda x: sum(x),
    "stacked": lambda x: np.stack([x, x * 2], axis=-1),
    "concatenated": lambda x: np.concatenate([x, x], axis=0),
    "with a constant": lambda x: np.concatenate([x, np.ones((1, *x.shape[1:]))], axis=0),
    "swapped": lambda x: x.swapaxes(0, -1),
    "moved": lambda x: np.moveaxis(x, 0, -1),
    "squeezed": lambda x: np.squeeze(x),
    "expanded": lambda x: np.expand_dims(x, (0, -1)),
    "broadcast": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "flipped": lambda x: np.flip(x),
    "flipped in an axis": lambda x: np.flip(x, 0),
    "turned": lambda x: np.rot90(x),
    "rolled": lambda x: np.roll(x, 1, axis=0),
    "padded": lambda x: np.pad(x, 1),
    "padded edge": lambda x: np.pad(x, ((1, 2),) * x.ndim, mode="edge"),
    "repeated": lambda x: x.repeat(2),
    "repeated in an axis": lambda x: np.repeat(x, 2, axis=-1),
    "tiled": lambda x: np.tile(x, 2),
    "where": lambda x: np.where(x > 1, x, 0),
    "where float": lambda x: np.where(x > 1, 2.5, x),
    "clipped": lambda x: np.clip(x, 1, 3),
    "clipped below": lambda x: x.clip(1),
    "full": lambda x: np.full_like(x, 3),
    "zeros": lambda x: np.zeros_like(x, dtype=np.int16),
    "ones": lambda x: np.ones_like(x),
    "copied": lambda x: x.copy(),
    "rounded": lambda x: np.round(x, 1),
    "as float": lambda x: x.astype(np.float32) / 255,
    "as float twice": lambda x: (lambda y: y * y + y)(x.astype(np.float64)),
    "as int": lambda x: x.astype(np.int16),
    "as int and back": lambda x: x.astype("int32").astype("float32") * 0.3,
    "power": lambda x: x**2,
    "power of three": lambda x: x**3,
    "power of half": lambda x: (x * 1.0) ** 0.5,
    "power of": lambda x: 2.0**x,
    "matrix": lambda x: x @ x.T,
    "dot": lambda x: np.dot(x, x.T),
    "einsum": lambda x: np.einsum("...i->...", x * 1.0),
    "norm": lambda x: np.linalg.norm(x * 1.0),
    "sorted": lambda x: np.sort(x),
    "difference": lambda x: np.diff(x, axis=0),
    "taken": lambda x: np.take(x, [0, -1], axis=0),
    "taken flat": lambda x: x.take([0]),
    "found": lambda x: np.searchsorted(np.array([0, 1, 5]), x),
    "median": lambda x: np.median(x),
    "reduced": lambda x: np.add.reduce(x),
    "outer": lambda x: np.multiply.outer(x, np.arange(2)),
    "real": lambda x: x.real * 2,
}


@pytest.mark.parametrize("operation", BINARY, ids=lambda f: f.__name__)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_given_two_operands_then_rows_do_what_each_row_does(operation: Function, data: st.DataObject) -> None:
    left = data.draw(arrays(DTYPES))
    right = data.draw(st.sampled_from(CONSTANTS) | arrays(DTYPES))
    if isinstance(right, np.ndarray) and right.ndim and len(right) == ROWS:
        _unless_it_fails(operation, left, right)
        return
    _unless_it_fails(lambda x: operation(x, right), left)
    _unless_it_fails(lambda x: operation(right, x), left)


def _unless_it_fails(function: Function, *operands: Any) -> None:
    try:
        with np.errstate(all="ignore"):
            for row in zip(*operands, strict=True):
                function(*row)
    except Exception:
        return  # rows that fail are called one by one
    check(function, *operands)


@pytest.mark.parametrize("operation", UNARY, ids=lambda f: f.__name__)
@settings(max_examples=15, deadline=None)
@given(x=arrays(DTYPES))
def test_given_one_operand_then_rows_do_what_each_row_does(operation: Function, x: Any) -> None:
    _unless_it_fails(operation, x)
    _unless_it_fails(lambda x: operation(x.T), x)


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=15, deadline=None)
@given(x=arrays(DTYPES))
def test_given_a_call_then_rows_do_what_each_row_does(name: str, x: Any) -> None:
    _unless_it_fails(CALLS[name], x)


@pytest.mark.parametrize("name", CALLS)
def test_given_a_plain_image_then_no_call_is_refused(name: str) -> None:
    x = np.random.default_rng(0).integers(0, 9, (ROWS, 3, 3)).astype(np.uint8)
    must(CALLS[name], x)


@pytest.mark.parametrize("operation", [*BINARY[:12], *BINARY[13:]], ids=lambda f: f.__name__)
def test_given_operands_of_several_ranks_then_they_broadcast_like_rows(operation: Function) -> None:
    rng = np.random.default_rng(1)
    # As many rows as items in an axis: an axis taken for another would go unnoticed otherwise.
    image, vector = rng.integers(1, 9, (4, 4, 4)), rng.integers(1, 9, (4, 4))
    scalar = rng.integers(1, 9, 4)
    for pair in [(image, vector), (vector, image), (image, scalar), (scalar, vector)]:
        must(operation, *pair)
    must(lambda s: operation(s, np.arange(1, 5)), scalar)
    must(lambda v: operation(np.ones((4, 4), int), v), vector)


def test_given_powers_then_they_are_those_of_scalars_or_arrays_as_in_a_row() -> None:
    rng = np.random.default_rng(2)
    scalar, vector = rng.random(40), rng.random((40, 5))
    exponent = rng.choice([0.5, 2.0, 1.7], 40)
    for base in (np.float32(3), np.float64(1.3), np.arange(1.0, 4.0)):
        check(lambda x: base**x, scalar)
        check(lambda x: np.power(base, x), scalar)
        must(lambda x: base ** x[:3], vector)
    must(lambda x, y: x**y, vector, exponent)
    must(lambda x, y: x**y, scalar, exponent)
    must(lambda x: np.power(x, 0.5), vector)


def test_given_large_rows_then_the_pool_is_used_and_the_bits_are_the_same() -> None:
    asked = []

    def empty(shape: Any, dtype: Any) -> Any:
        asked.append(np.dtype(dtype))
        return np.full(shape, 7, dtype)

    x = np.random.default_rng(0).integers(0, 255, (400, 28, 28)).astype(np.uint8)
    trace = Trace(len(x), empty)
    trace.sources.append(x)
    result = Rows(x, trace).astype(np.float32) / 255
    assert result._array.tobytes() == (x.astype(np.float32) / 255).tobytes()
    assert asked == [np.float32]  # the cast has no buffer of its own


@pytest.mark.parametrize(
    "constant", [255, np.float32(255), np.array(255, np.float32), np.full((28, 28), 255, np.float32)]
)
def test_given_a_cast_and_a_constant_of_that_dtype_then_the_cast_has_no_buffer(constant: Any) -> None:
    asked = []

    def empty(shape: Any, dtype: Any) -> Any:
        asked.append(np.dtype(dtype))
        return np.full(shape, 7, dtype)

    x = np.random.default_rng(0).integers(0, 255, (400, 28, 28)).astype(np.uint8)
    result = Rows(x, Trace(len(x), empty)).astype(np.float32) / constant
    assert result._array.tobytes() == np.stack([row.astype(np.float32) / constant for row in x]).tobytes()
    assert asked == [np.float32]


def test_given_a_cast_and_a_constant_of_another_dtype_then_it_is_computed_in_that_of_rows() -> None:
    x = np.random.default_rng(0).integers(0, 255, (ROWS, 3)).astype(np.uint8)
    for constant in (np.float64(1.1), np.full(3, 1.1), np.float16(1.1), np.int64(3)):
        must(lambda x: x.astype(np.float32) * constant, x)
        must(lambda x: x.astype(np.float32) * x.astype(np.float64) + x, x)


def test_given_a_number_of_each_row_then_it_picks_from_the_row() -> None:
    x = np.random.default_rng(0).random((ROWS, 4, 3))
    i = np.array([0, 3, -1, 2, 1, 0])
    must(lambda x, i: x[i], x, i)
    must(lambda x, i: x[i, 1], x, i)
    must(lambda x, i: x[1, i % 3], x, i)
    must(lambda x, i: np.take_along_axis(x, i[None, None], axis=0), x, i % 4)


def test_when_a_result_is_changed_in_place_then_its_views_change_and_the_source_does_not() -> None:
    source = np.arange(24.0).reshape(ROWS, 4)
    kept = source.copy()

    def change(x: Any) -> Any:
        y = x * 2
        first = y[:1]
        y += 1
        y[2] = x[0]
        y[y > 9] = -1
        y[:2] *= 3
        return y + first

    must(change, source)
    assert (source == kept).all()


VIEWS: dict[str, Function] = {
    "atleast_1d": np.atleast_1d,
    "atleast_2d": np.atleast_2d,
    "real": np.real,
    "real part": lambda y: y.real,
    "diagonal": lambda y: np.diagonal(y, axis1=0, axis2=1),
    "diag": np.diag,
    "rollaxis": lambda y: np.rollaxis(y, 1),
    "Fortran order": lambda y: y.T.ravel(order="F"),
    "first power": lambda y: np.linalg.matrix_power(y, 1),
    "rank 0": lambda y: y[0, ..., 0],
    "reshaped to rank 0": lambda y: y[:1, :1].reshape(()),
    "squeezed to rank 0": lambda y: np.squeeze(y[:1, :1]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_given_a_view_when_it_or_its_source_changes_in_place_then_so_does_the_other(name: str) -> None:
    x = np.zeros((ROWS, 3, 3))
    x[4] = 5  # a row that differs from those that are looked at

    def through_the_view(x: Any) -> Any:
        y = x * 1
        view = VIEWS[name](y)
        view += x[0, 0]
        return y

    def under_the_view(x: Any) -> Any:
        y = x * 1
        view = VIEWS[name](y)
        y += x[0, 0]
        return view

    def items_of_the_view(x: Any) -> Any:
        y = x * 1
        view = VIEWS[name](y)
        view[...] = x[0, 0] + 1
        return y

    for function in (through_the_view, under_the_view, items_of_the_view):
        try:
            function(x[4])
        except ValueError:
            continue  # NumPy gives a diagonal that cannot be written to
        check(function, x)


def test_given_an_item_when_its_array_changes_then_the_item_does_not() -> None:
    x = np.zeros((ROWS, 3))
    x[4] = 5

    def change(x: Any) -> Any:
        y = x * 1
        item, (first, *_) = y[1], y
        y[y > 3] = -1
        return item + first

    must(change, x)


def test_when_numpy_would_write_to_what_it_is_given_then_it_is_refused() -> None:
    x = np.full((ROWS, 3), np.nan)
    order = np.arange(3.0)[::-1].copy()
    for function in (
        lambda x: np.nan_to_num(x, copy=False),
        lambda x: np.median(x, overwrite_input=True),
        lambda x: np.dot(x[0], x, order),
    ):
        trace = Trace(ROWS)
        with pytest.raises((ValueError, NotVectorizable)):
            function(Rows(x, trace))
        assert trace.failed
    assert np.isnan(x).all()
    assert order.tolist() == [2, 1, 0]


@pytest.mark.parametrize("operation", [np.fmax, np.fmin, np.maximum, np.minimum])
@pytest.mark.parametrize("dtype", FLOATS)
def test_given_zeros_of_both_signs_then_the_sign_is_that_of_a_row(operation: Function, dtype: str) -> None:
    zeros = np.array([0.0, -0.0, 1.5, -2.5], dtype)
    left, right = np.tile(np.repeat(zeros, 4), 20), np.tile(zeros, 80)
    must(operation, left, right)
    must(lambda x: operation(x, 0.0), left)
    must(operation, np.repeat(left[:, None], 3, 1), np.repeat(right[:, None], 3, 1))


def test_given_a_scalar_then_in_place_makes_a_new_one() -> None:
    def add(x: Any) -> Any:
        y = x
        y += 1.5
        return y + x

    must(add, np.arange(ROWS))


def test_when_the_source_is_changed_in_place_then_it_is_refused() -> None:
    x = np.ones((ROWS, 3))

    def add(x: Any) -> Any:
        x += 1
        return x

    def put(x: Any) -> Any:
        x[1:][0] = 1
        return x

    for function in (add, put):
        with pytest.raises(NotVectorizable):
            over_block(function, x)
    assert (x == 1).all()


REFUSED: dict[str, Function] = {
    "branch": lambda x: 1 if x[0] > 3 else 2,
    "int": lambda x: int(x[0]),
    "float": lambda x: float(x[0]),
    "index": lambda x: [1, 2, 3][x[0]],
    "array": lambda x: np.asarray(x),
    "array of two": lambda x: np.array([x, x]),
    "scalar type": lambda x: np.float32(x),
    "table": lambda x: np.arange(9)[x],
    "mask": lambda x: x[x > 1],
    "places": lambda x: np.where(x > 1),
    "unique": lambda x: np.unique(x),
    "text": lambda x: f"{x}",
    "key": lambda x: {x: 1},
    "search": lambda x: 3 in x,
    "compared": lambda x: max(x[0], x[1]),
    "strides": lambda x: x.strides,
    "unknown": lambda x: x.no_such_thing,
    "out": lambda x: np.add(x, 1, out=np.zeros(3)),
    "into an array": lambda x: np.zeros(3).__setitem__(0, x[0]),
    "list": lambda x: x.tolist(),
    "length of a scalar": lambda x: len(x[0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_given_what_is_not_understood_then_the_trace_fails_even_if_it_is_caught(name: str) -> None:
    trace = Trace(ROWS)
    x = Rows(np.ones((ROWS, 3), np.int64), trace)
    with contextlib.suppress(Exception):  # as a user's function may
        REFUSED[name](x)
    assert trace.failed


def _raises(function: Function, **how: Any) -> Function:
    def operate(x: Any) -> Any:
        with np.errstate(**how):
            return function(x)

    return operate


FAILING: dict[str, Function] = {
    "by row": lambda x: np.linalg.inv(x),
    "gather": lambda x: x[x[0, 0].astype(np.int64)],
    "taken": lambda x: np.take_along_axis(x, x.astype(np.int64), axis=0),
    "item": lambda x: x[9],
    "method": lambda x: x.reshape(4, 4),
    "function": lambda x: np.concatenate([x, x], axis=7),
    "matmul": lambda x: x @ np.ones(7),
    "matmul from the left": lambda x: np.ones(7).tolist() @ x,
    "shapes": lambda x: x + np.ones(7),
    "set": lambda x: (x * 1).__setitem__(9, 1),
    "power": lambda x: x.astype(np.int64) ** -1,
    "power of": lambda x: np.arange(2) ** -x.astype(np.int64),
    "division": _raises(lambda x: 1 / x, divide="raise"),
    "division in place": _raises(lambda x: operator.itruediv(x * 1, x), all="raise"),
    "cast": _raises(lambda x: (x * 1e300).astype(np.float32), over="raise"),
    "cast to int": _raises(lambda x: (x * 1e300).astype(np.int32), invalid="raise"),
    "scalar overflow": _raises(lambda x: x[0, 0].astype(np.int8) * np.int8(100), over="raise"),
    "dtype": lambda x: x.astype("no such dtype"),
    "reduce": lambda x: np.add.reduce(x, axis=9),
}


def test_given_errors_that_raise_when_there_are_none_then_rows_do_what_each_row_does() -> None:
    must(_raises(lambda x: x * 100 + 1, all="raise"), np.arange(ROWS * 3, dtype=np.int8).reshape(ROWS, 3))
    must(_raises(lambda x: x.astype(np.float32) / 3, all="raise"), np.arange(ROWS * 3.0).reshape(ROWS, 3))
    must(_raises(lambda x: x + 0.5, all="raise"), np.arange(ROWS))


@pytest.mark.parametrize("name", FAILING)
def test_when_an_operation_raises_for_a_row_then_the_trace_fails_even_if_it_is_caught(name: str) -> None:
    x = np.stack([np.eye(2)] * ROWS)
    x[4] = [[9, 9], [0, 9]] if name in ("gather", "taken", "cast", "scalar overflow") else 0
    with pytest.raises(Exception):  # noqa: B017
        for row in x:
            FAILING[name](row)
    trace = Trace(ROWS)
    with contextlib.suppress(Exception):  # as a user's function may
        FAILING[name](Rows(x, trace))
    assert trace.failed


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x == b"a",
        lambda x: x + b"a",
        lambda x: len(x),
        lambda x: x[0],
        lambda x: x.decode(),
        lambda x: bool(x),
        lambda x: np.sum(x),
        lambda x: np.add(x, 1),
        lambda x: list(x),
        lambda x: bytes(x),
        lambda x: {x},
    ],
)
def test_given_an_opaque_leaf_when_it_is_used_then_the_trace_fails(use: Function) -> None:
    trace = Trace(1)
    with pytest.raises(NotVectorizable):
        use(Opaque(ObjectColumn(np.array([b"a"], object)), trace))
    assert trace.failed


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.array([{"a": x}, {"b": x}]),
        lambda x: {"image": x, "boxes": np.array([{"box": x * 2}])},
        lambda x: np.stack([{"a": x}]),
    ],
)
def test_given_an_array_of_objects_then_nothing_that_stands_for_rows_is_in_it(function: Any) -> None:
    ds = ps.Dataset.from_tensor_slices(np.arange(6.0).reshape(3, 2))
    assert repr(list(ds.map(function))) == repr(list(ds.map(function, executor="threads")))
