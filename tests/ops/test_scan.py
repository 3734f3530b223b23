"""`scan`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, failing


def add(state: Any, x: Any) -> Any:
    return state + x, state


def fibonacci(state: Any, x: Any) -> Any:
    a, b = state["pair"]
    return {"pair": (b, a + b)}, (a, x)


def large(state: Any, x: Any) -> Any:
    return state + 1, np.full(40_000, state)


class TestScan(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "sum": lambda: ps.Dataset.range(30).scan(0, add),
            "nested state": lambda: ps.Dataset.range(30).scan({"pair": (0, 1)}, fibonacci),
            "large rows": lambda: ps.Dataset.range(12).scan(0, large),
            "empty": lambda: ps.Dataset.range(0).scan(0, add),
            "endless": lambda: ps.Dataset.counter().scan(0, add),
        }

    def test_given_a_state_then_each_call_gets_what_the_one_before_left(self) -> None:
        assert events(ps.Dataset.range(5).scan(10, add)) == [10, 10, 11, 13, 16]

    def test_given_tuples_then_an_element_is_one_argument(self) -> None:
        ds = ps.Dataset.from_tensor_slices(([1, 2], [3, 4]))
        assert events(ds.scan(0, lambda s, e: (s + e[0] * e[1], (e, s)))) == [
            ((1, 3), 0),
            ((2, 4), 3),
        ]

    def test_given_a_list_for_a_pair_then_it_is_one(self) -> None:
        assert events(ps.Dataset.range(3).scan(0, lambda s, x: [s + x, x])) == [0, 1, 2]

    @pytest.mark.parametrize("rows", [1, 2, 64])
    def test_given_a_failing_element_then_the_state_stays_as_it_was(self, rows: int) -> None:
        def careful(state: Any, x: Any) -> Any:
            if x == 3:
                raise ValueError("three")
            return state + x, state + x

        # 0, 1, (2 fails above), (3 fails here), 4, 5: the sums leave both out.
        got = events(failing(6, 2).scan(0, careful), block_rows=rows)
        assert got == [0, 1, FAILED, FAILED, 5, 10]

    def test_given_another_dtype_of_state_then_the_error_says_which_and_the_old_one_stays(
        self,
    ) -> None:
        it = iter(ps.Dataset.range(3).scan(0, lambda s, x: (s + 0.5 if x == 1 else s + 1, s)))
        assert int(next(it)) == 0
        with pytest.raises(ps.errors.DataError, match=r"element 1.*expected int64.*got float64"):
            next(it)
        assert int(next(it)) == 1

    def test_given_another_structure_of_state_then_it_is_an_error(self) -> None:
        with pytest.raises(ps.errors.DataError, match=r"expected the structure \(leaf, leaf\)"):
            list(ps.Dataset.range(3).scan((0, 0), lambda s, x: (s[0], x)))

    def test_given_another_structure_of_output_then_the_state_stays_as_it_was(self) -> None:
        ds = ps.Dataset.range(4).scan(0, lambda s, x: (s + 1, (s, s) if x == 1 else s))
        assert events(ds) == [0, FAILED, 1, 2]

    def test_given_no_pair_then_it_is_an_error(self) -> None:
        with pytest.raises(ps.errors.DataError, match="expected the function to return a pair"):
            list(ps.Dataset.range(3).scan(0, lambda s, x: s + x))

    def test_given_lengths_then_the_cardinality_stays(self) -> None:
        assert ps.Dataset.range(5).scan(0, add).cardinality() == 5
        assert ps.Dataset.counter().scan(0, add).cardinality() == ps.INFINITE

    def test_given_no_function_then_declaring_fails_and_names_the_line(self) -> None:
        with pytest.raises(TypeError, match=r"scan\(scan_func=\) at .*test_scan\.py:\d+"):
            ps.Dataset.range(3).scan(0, "add")  # type: ignore[arg-type]

    def test_given_a_state_that_grows_then_its_bytes_are_on_the_account(self) -> None:
        def grow(state: Any, x: Any) -> Any:
            return np.concatenate([state, np.zeros(1 << 20, np.uint8)]), x

        ds = ps.Dataset.range(8).scan(np.zeros(0, np.uint8), grow)
        with ds.iterate(memory="64MiB") as it:
            assert len(list(it)) == 8
            assert it._run.ledger.peak >= 8 << 20
        assert it._run.ledger.held == 0
        endless = ps.Dataset.counter().scan(np.zeros(0, np.uint8), grow)
        with (
            endless.iterate(memory="16MiB") as it,
            pytest.raises(ps.errors.BudgetError, match=r"scan.*Carry a smaller state"),
        ):
            for _ in it:
                pass

    def test_given_a_state_that_shrinks_then_its_bytes_are_given_back(self) -> None:
        ds = ps.Dataset.range(3).scan(np.zeros(4 << 20, np.uint8), lambda s, x: (s[:10].copy(), x))
        with ds.iterate(memory="64MiB") as it:
            assert len(list(it)) == 3
            assert it._run.ledger.peak >= 4 << 20
            assert it._run.ledger.reserved < 1 << 20

    @pytest.mark.parametrize("rows", [1, 2, 64])
    def test_given_a_state_that_is_changed_in_place_then_outputs_and_the_users_array_are_not(
        self, rows: int
    ) -> None:
        initial = np.zeros(2, np.int64)

        def total(state: Any, x: Any) -> Any:
            state += x
            return state, state

        ds = ps.Dataset.range(4).scan(initial, total).with_options(ps.Options(block_rows=rows))
        for _ in range(2):
            assert [x.tolist() for x in list(ds)] == [[0, 0], [1, 1], [3, 3], [6, 6]]
        assert initial.tolist() == [0, 0]

    def test_given_the_old_state_as_output_then_it_is_not_copied(self) -> None:
        made: list[int] = []

        def step(state: Any, x: Any) -> Any:
            new = state + x
            made.append(new.ctypes.data)
            return new, state

        ds = ps.Dataset.range(4).scan(np.zeros(1 << 20), step).with_options(ps.Options(block_rows=1))
        assert [x.ctypes.data for x in list(ds)][1:] == made[:-1]
