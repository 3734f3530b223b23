"""Sums, means and spreads of floats, and sorting, over a block: to the last bit those of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.blocks.rows import Rows
from penstock.blocks.trace import Trace

REDUCTIONS = ("sum", "prod", "mean", "std", "var")
SHAPES = [(1,), (7,), (127,), (129,), (3000,), (8193,), (5, 3), (40, 60), (1, 9), (9, 1), (6, 7, 3)]


def over_block(array: Any, function: Any) -> Any:
    trace = Trace(len(array))
    trace.sources.append(array)
    made = function(Rows(array, trace))
    assert trace.failed is None, trace.failed
    return made._array


def numbers(shape: tuple[int, ...], dtype: Any) -> Any:
    rng = np.random.default_rng(len(shape))
    return (rng.standard_normal((11, *shape)) * 10.0 ** rng.integers(-3, 4, (11, *shape))).astype(dtype)


def same_bits(got: Any, expected: list[Any]) -> bool:
    wanted = np.array(expected)
    return got.dtype == wanted.dtype and got.shape == wanted.shape and got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_given_floats_then_the_bits_are_those_of_each_row(name: str, shape: Any, dtype: Any) -> None:
    rows = numbers(shape, dtype)
    axes: list[Any] = [None, *range(-len(shape), len(shape)), tuple(range(len(shape)))]
    with np.errstate(all="ignore"):
        for axis in axes:
            for keepdims in (False, True):

                def reduce(x: Any, how: Any = {"axis": axis, "keepdims": keepdims}) -> Any:  # noqa: B006
                    return getattr(x, name)(**how)

                assert same_bits(over_block(rows, reduce), [reduce(row) for row in rows]), (axis, keepdims)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_given_rows_that_lie_apart_then_the_bits_are_those_of_each_row(name: str) -> None:
    rows = numbers((60, 40), np.float32)
    for seen in (rows[:, ::2], rows[..., ::3], rows[:, 5:], rows.transpose(0, 2, 1), rows[::2]):
        for axis in (None, 0, 1, -1):

            def reduce(x: Any, axis: Any = axis) -> Any:
                return getattr(np, name)(x, axis=axis)

            with np.errstate(all="ignore"):
                assert same_bits(over_block(seen, reduce), [reduce(row) for row in seen]), axis


@pytest.mark.parametrize("name", ["sum", "mean", "std", "max"])
def test_given_lines_then_they_are_reduced_all_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.blocks.rows.by_row", None)
    rows = numbers((20, 30), np.float32)
    for axis in (None, -1, 1):
        over_block(rows, lambda x, axis=axis: getattr(x, name)(axis=axis))


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64", "bool"])
@pytest.mark.parametrize("shape", SHAPES[:3] + SHAPES[-3:], ids=str)
@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_given_numbers_to_sort_then_the_order_is_that_of_each_row(name: str, shape: Any, dtype: str) -> None:
    rows = np.random.default_rng(0).integers(-2, 3, (11, *shape)).astype(dtype)
    if dtype.startswith("float"):
        rows[rows == 1] = np.nan
        rows[rows == 0] = -0.0
    for axis in range(-len(shape), len(shape)):
        for function in (
            lambda x, axis=axis: getattr(np, name)(x, axis=axis),
            lambda x, axis=axis: getattr(np, name)(x, axis, "stable"),
        ):
            assert same_bits(over_block(rows, function), [function(row) for row in rows]), axis
