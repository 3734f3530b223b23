"""`reduce`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import same
from contract.streams import failing


def add(state: Any, x: Any) -> Any:
    return state + x


def test_given_elements_then_the_last_state_comes() -> None:
    assert same(ps.Dataset.range(5).reduce(0, add), np.int64(10))
    assert same(ps.Dataset.range(5_000).reduce(0, lambda n, _: n + 1), np.int64(5_000))


def test_given_no_elements_then_the_initial_state_comes() -> None:
    assert same(ps.Dataset.range(0).reduce(np.int64(5), add), np.int64(5))


def test_given_a_nested_state_then_it_keeps_its_structure() -> None:
    got = ps.Dataset.range(4).reduce(
        {"sum": 0, "seen": (b"", 1.0)},
        lambda s, x: {"sum": s["sum"] + x, "seen": (s["seen"][0] + b"x", s["seen"][1] * 2)},
    )
    assert same(got, {"sum": np.int64(6), "seen": (b"xxxx", np.float64(16))})


def test_given_a_state_that_is_an_array_then_it_comes_whole() -> None:
    got = ps.Dataset.range(3).reduce(np.zeros(2), lambda s, x: s + np.array([x, 1]))
    assert same(got, np.array([3.0, 3.0]))


def test_given_tuples_then_an_element_is_one_argument() -> None:
    ds = ps.Dataset.from_tensor_slices(([1, 2], [3, 4]))
    assert int(ds.reduce(0, lambda s, pair: s + pair[0] * pair[1])) == 11


def test_given_a_failing_element_then_it_is_raised() -> None:
    with pytest.raises(ps.errors.FunctionError, match="2 is bad"):
        failing(5, 2).reduce(0, add)


def test_given_a_failing_function_then_the_error_names_the_element_and_the_line() -> None:
    with pytest.raises(
        ps.errors.FunctionError, match=r"reduce at .*test_reduce\.py:\d+.*element 2.*test_reduce"
    ):
        ps.Dataset.range(-2, 3).reduce(0, lambda s, x: s + 1 // int(x))


def test_given_another_dtype_then_the_error_says_which_to_start_from() -> None:
    with pytest.raises(ps.errors.DataError, match=r"expected int64.*got float64.*initial state"):
        ps.Dataset.from_tensor_slices([0.5]).reduce(0, add)


def test_given_an_epoch_for_each_call_then_reshuffling_goes_on() -> None:
    ds = ps.Dataset.random(seed=1, rerandomize_each_iteration=True).take(3)
    assert ds.reduce(0, add) != ds.reduce(0, add)


def test_when_it_has_ended_then_nothing_is_left_running() -> None:
    closed = []

    def numbers() -> Any:
        try:
            yield from range(5)
        finally:
            closed.append(True)

    def fail(state: Any, x: Any) -> Any:
        raise ValueError("no")

    with pytest.raises(ps.errors.FunctionError):
        ps.Dataset.from_generator(numbers).reduce(0, fail)
    assert closed == [True]


def test_given_no_function_then_it_fails_and_names_the_line() -> None:
    with pytest.raises(TypeError, match=r"reduce\(reduce_func=\) at .*test_reduce\.py:\d+"):
        ps.Dataset.range(3).reduce(0, 3)  # type: ignore[arg-type]


def test_given_a_state_that_grows_beyond_the_budget_then_it_is_refused() -> None:
    def grow(state: Any, x: Any) -> Any:
        return np.concatenate([state, np.full(1 << 20, x, np.uint8)])

    ds = ps.Dataset.range(100).with_options(ps.Options(memory="16MiB"))
    with pytest.raises(ps.errors.BudgetError, match=r"reduce.*Carry a smaller state"):
        ds.reduce(np.zeros(0, np.uint8), grow)
    assert len(ds.take(4).reduce(np.zeros(0, np.uint8), grow)) == 4 << 20


def test_given_arrays_of_the_user_then_the_result_is_none_of_them() -> None:
    initial, table = np.zeros(2), np.ones(2)

    def change(state: Any, x: Any) -> Any:
        state += x
        return state

    assert ps.Dataset.range(3).reduce(initial, change).tolist() == [3, 3]
    assert ps.Dataset.range(3).reduce(initial, change).tolist() == [3, 3]
    assert not np.shares_memory(ps.Dataset.range(0).reduce(initial, change), initial)
    assert not np.shares_memory(ps.Dataset.range(3).reduce(initial, lambda s, x: table), table)
