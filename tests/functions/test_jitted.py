"""Maps whose function is compiled by Numba."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.functions import jitted


def collatz(x: Any) -> Any:
    n = 0
    while x > 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        n += 1
    return n


def pair(x: Any, y: Any) -> Any:
    return x * y, x.sum()


def picky(x: Any) -> Any:
    if x % 7 == 5:
        raise ValueError("five of seven")
    return np.full(3, x)


def uneven(x: Any) -> Any:
    return np.zeros(x % 2 + 1)


@pytest.mark.parametrize("calls", [None, 2])
def test_given_a_loop_then_the_results_are_those_of_plain_calls(calls: int | None) -> None:
    ds = ps.Dataset.range(1, 500)
    got = [int(x) for x in ds.map(collatz, num_parallel_calls=calls, executor="jit")]
    assert got == [collatz(x) for x in range(1, 500)]


def test_given_tuples_of_arrays_then_the_dtypes_are_numbas() -> None:
    left = np.arange(12, dtype=np.float32).reshape(4, 3)
    ds = ps.Dataset.from_tensor_slices((left, np.arange(4, dtype=np.float32)))
    got = list(ds.map(pair, executor="jit"))
    for i, (product, total) in enumerate(got):
        assert product.dtype == total.dtype == np.float32
        np.testing.assert_array_equal(product, left[i] * np.float32(i))
        assert total == left[i].sum()


@pytest.mark.parametrize("rows", [1, 4, 100])
def test_when_a_row_fails_then_it_alone_does(rows: int) -> None:
    it = iter(ps.Dataset.range(20).map(picky, executor="jit").with_options(ps.Options(block_rows=rows)))
    for number in range(20):
        if number % 7 == 5:
            with pytest.raises(ps.errors.FunctionError, match=f"element {number}: ValueError: five of seven"):
                next(it)
        else:
            assert next(it).tolist() == [number] * 3
    assert list(it) == []


def test_given_results_of_several_shapes_then_that_is_said() -> None:
    with pytest.raises(ps.errors.FunctionError, match="another shape than the first"):
        list(ps.Dataset.range(4).map(uneven, executor="jit"))


counted = 0


def counts(x: Any) -> Any:
    global counted
    counted += 1
    return x


@pytest.mark.parametrize(
    "function",
    [
        lambda x: {"a": x},
        lambda x: str(x),
        lambda x: ps.random.uniform(),
        lambda x: object(),
        lambda x: [x, x],
        lambda x: (x, [x]),
        lambda x: range(x),
        counts,
        partial(collatz),
        abs,
    ],
)
def test_given_what_numba_does_not_compile_then_the_error_names_the_line(function: Any) -> None:
    with pytest.raises(ps.errors.ArgumentError, match=r"test_jitted\.py.*executor='jit'.*executor='auto'"):
        list(ps.Dataset.range(3).map(function, executor="jit"))


def test_given_elements_that_it_does_not_take_then_the_error_says_which() -> None:
    ds = ps.Dataset.from_tensor_slices({"a": np.arange(3)})
    with pytest.raises(ps.errors.ArgumentError, match="numbers, arrays of one shape, or tuples"):
        list(ds.map(lambda x: x, executor="jit"))


def test_given_shuffles_around_then_the_stream_is_that_of_plain_calls() -> None:
    ds = ps.Dataset.range(1, 200)
    plain = ds.map(collatz).shuffle(50, seed=1)
    jitted = ds.map(collatz, executor="jit").shuffle(50, seed=1)
    assert [int(x) for x in plain] == [int(x) for x in jitted]


FACTOR = 2
TABLE = np.arange(5)
ELSEWHERE = ModuleType("elsewhere")
ELSEWHERE.factor = 2  # type: ignore[attr-defined]


def scaled(x: int) -> int:
    return x * FACTOR


def looked_up(x: int) -> int:
    return TABLE[x]  # type: ignore[no-any-return]


def of_a_module(x: int) -> int:
    return x * ELSEWHERE.factor


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The loops that were compiled."""
    found: list[Any] = []
    written = jitted._written

    def counted(*arguments: Any) -> Any:
        found.append(arguments)
        return written(*arguments)

    monkeypatch.setattr(jitted, "_written", counted)
    return found


def test_given_the_next_run_then_nothing_is_compiled_again(compiled: list[Any]) -> None:
    ds = ps.Dataset.range(4).map(looked_up, executor="jit")
    for _ in range(3):
        assert [int(x) for x in ds] == [0, 1, 2, 3]
    assert len(compiled) == 1


@pytest.mark.parametrize(
    ("function", "change", "after"),
    [
        (scaled, lambda patch: patch.setitem(globals(), "FACTOR", 3), [0, 3, 6, 9]),
        (looked_up, lambda _: TABLE.__setitem__(4, 40), [0, 1, 2, 3, 40]),
        (of_a_module, lambda patch: patch.setattr(ELSEWHERE, "factor", 3), [0, 3, 6, 9]),
    ],
)
def test_given_what_a_function_reads_has_changed_then_the_next_run_sees_it(
    function: Any, change: Any, after: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ds = ps.Dataset.range(len(after)).map(function, executor="jit")
    before = [int(x) for x in ds]
    change(monkeypatch)
    assert [int(x) for x in ds] == after != before


def test_given_a_closure_that_has_changed_then_the_next_run_sees_it() -> None:
    factor = 2

    def times(x: int) -> int:
        return x * factor

    ds = ps.Dataset.range(3).map(times, executor="jit")
    assert [int(x) for x in ds] == [0, 2, 4]
    factor = 5
    assert [int(x) for x in ds] == [0, 5, 10]


def test_given_results_of_another_shape_in_the_next_run_then_they_are_taken(
    compiled: list[Any],
) -> None:
    lengths = [2, 2]

    def rows() -> Any:
        return iter([np.arange(length) for length in lengths])

    def as_many(x: Any) -> Any:
        return np.ones(x[-1] + 1)

    spec = ps.TensorSpec((None,), np.int64)
    ds = ps.Dataset.from_generator(rows, output_signature=spec).map(as_many, executor="jit")
    assert [len(x) for x in ds] == [2, 2]
    lengths[:] = [3, 3]
    assert [len(x) for x in ds] == [3, 3]
    assert len(compiled) == 2
