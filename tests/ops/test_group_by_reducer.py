"""`ps.group_by_reducer`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract


def third(x: Any) -> Any:
    return x % 3


def of_pair(x: Any, y: Any) -> Any:
    return x % 2


def zero(_: Any) -> Any:
    return np.int64(0)


def add(state: Any, x: Any) -> Any:
    return state + x


def add_pair(state: Any, pair: Any) -> Any:
    return state + pair[0] * pair[1]


def same(state: Any) -> Any:
    return state


def key_and_zero(key: Any) -> Any:
    return key, np.int64(0)


def count(state: Any, _: Any) -> Any:
    return state[0], state[1] + 1


def as_dict(key: Any, count: Any) -> Any:
    return {"key": key, "count": count}


SUM = ps.Reducer(zero, add, same)
COUNT = ps.Reducer(key_and_zero, count, as_dict)


class TestGroupByReducer(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        pairs = ps.Dataset.from_tensor_slices((np.arange(9), np.arange(9)))
        dot = ps.Reducer(zero, add_pair, same)
        return {
            "sum": lambda: ps.Dataset.range(20).apply(ps.group_by_reducer(third, SUM)),
            "count": lambda: ps.Dataset.range(20).apply(ps.group_by_reducer(third, COUNT)),
            "pairs": lambda: pairs.apply(ps.group_by_reducer(of_pair, dot)),
            "empty": lambda: ps.Dataset.range(0).apply(ps.group_by_reducer(third, SUM)),
        }

    def test_given_keys_then_the_results_come_in_their_order(self) -> None:
        ds = ps.Dataset.from_tensor_slices([5, -3, 2, 5, 2, -3])
        got = list(ds.apply(ps.group_by_reducer(lambda x: x, COUNT)))
        assert [(int(x["key"]), int(x["count"])) for x in got] == [(-3, 2), (2, 2), (5, 2)]

    def test_given_a_failing_element_then_the_states_go_on_without_it(self) -> None:
        def fails(state: Any, x: Any) -> Any:
            if x == 4:
                raise RuntimeError("four")
            return state + x

        reducer = ps.Reducer(zero, fails, same)
        it = iter(ps.Dataset.range(6).apply(ps.group_by_reducer(third, reducer)))
        with pytest.raises(ps.errors.FunctionError, match="element 4"):
            next(it)
        assert [int(x) for x in it] == [0 + 3, 1, 2 + 5]

    def test_given_a_failing_result_then_the_others_come(self) -> None:
        def not_twelve(state: Any) -> Any:
            if state == 12:
                raise RuntimeError("twelve")
            return state

        reducer = ps.Reducer(zero, add, not_twelve)
        it = iter(ps.Dataset.range(9).apply(ps.group_by_reducer(third, reducer)))
        got: list[Any] = []
        for _ in range(3):
            try:
                got.append(int(next(it)))
            except ps.errors.FunctionError:
                got.append("error")
        # The sums of 0 3 6, 1 4 7 and 2 5 8.
        assert got == [9, "error", 15]

    def test_given_a_state_of_another_dtype_then_it_is_named(self) -> None:
        reducer = ps.Reducer(zero, lambda state, x: state + 0.5, same)
        with pytest.raises(ps.errors.DataError, match=r"expected int64.*got float64"):
            next(iter(ps.Dataset.range(3).apply(ps.group_by_reducer(third, reducer))))

    def test_given_more_keys_than_the_budget_holds_then_the_error_names_the_op(self) -> None:
        def large(_: Any) -> Any:
            return np.zeros(1 << 20, np.uint8)

        reducer = ps.Reducer(large, lambda state, _: state, lambda state: state[0])
        ds = ps.Dataset.range(100).apply(ps.group_by_reducer(lambda x: x, reducer))
        with (
            ds.iterate(memory="16MiB") as it,
            pytest.raises(ps.errors.BudgetError, match="group_by_reducer"),
        ):
            next(it)

    def test_given_wrong_arguments_then_declaring_fails(self) -> None:
        with pytest.raises(ps.errors.ArgumentTypeError, match=r"reducer=.*ps\.Reducer"):
            ps.Dataset.range(3).apply(ps.group_by_reducer(third, sum))
        with pytest.raises(ps.errors.ArgumentTypeError, match="init_func"):
            ps.Reducer(3, add, same)
