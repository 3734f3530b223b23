"""`unique`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, failing


def halved(x: Any) -> Any:
    return x // 2


def as_frozenset(x: Any) -> Any:
    return frozenset([int(x) % 3])


class TestUnique(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        def of(values: Any) -> ps.Dataset:
            return ps.Dataset.from_tensor_slices(values).unique()

        return {
            "numbers": lambda: of([5, 1, 5, 2, 1, 9] * 5),
            "many": lambda: ps.Dataset.range(500).map(halved).unique(),
            "floats": lambda: of([0.5, np.nan, 0.0, -0.0, np.nan, 0.5]),
            "bytes": lambda: of([b"a", b"", b"a", b"c" * 100, b"c" * 100]),
            "text": lambda: of(["a", "é", "a"]),
            "vectors": lambda: of(np.arange(12).reshape(6, 2) % 4),
            "tuples": lambda: of(([1, 1, 2, 1], [b"x", b"y", b"x", b"x"])),
            "objects": lambda: ps.Dataset.range(9).map(as_frozenset).unique(),
        }

    @pytest.mark.parametrize(
        "values, expected",
        [
            ([3, 1, 3, 2, 1], [3, 1, 2]),
            ([b"b", b"a", b"b"], [b"b", b"a"]),
            (["b", "a", "b"], ["b", "a"]),
            ([1.5, 0.5, 1.5], [1.5, 0.5]),
            ([True, True, False], [True, False]),
            ([[1, 2], [2, 1], [1, 2]], [[1, 2], [2, 1]]),
            ([-0.0, 0.0], [-0.0]),
            ([[-0.0], [0.0]], [[-0.0]]),
        ],
    )
    def test_given_leaves_of_a_kind_then_each_comes_once_in_order(self, values: Any, expected: Any) -> None:
        assert events(ps.Dataset.from_tensor_slices(values).unique()) == expected

    def test_given_not_a_number_then_it_comes_once(self) -> None:
        values = np.array([np.nan, 1.0, np.nan])
        assert len(list(ps.Dataset.from_tensor_slices(values).unique())) == 2

    def test_given_nests_then_whole_elements_are_compared(self) -> None:
        ds = ps.Dataset.from_tensor_slices({"a": [1, 1, 1], "b": [2, 3, 2]})
        assert events(ds.unique()) == [{"a": 1, "b": 2}, {"a": 1, "b": 3}]

    def test_given_numbers_then_other_leaves_then_all_are_remembered(self) -> None:
        mixed = [np.int64(1), np.int64(2), b"x", np.int64(1), b"x", np.int64(3)]
        ds = ps.Dataset.from_generator(lambda: iter(mixed))
        assert events(ds.unique(), block_rows=1) == [1, 2, b"x", 3]
        assert events(ds.unique()) == [1, 2, b"x", 3]

    def test_given_long_strings_that_differ_at_the_end_then_both_come(self) -> None:
        words = [b"x" * 999 + b"1", b"x" * 999 + b"2", b"x" * 999 + b"1"]
        assert events(ps.Dataset.from_tensor_slices(words).unique()) == words[:2]

    @given(st.lists(st.integers(-9, 9), min_size=1, max_size=60), st.integers(1, 9))
    def test_given_any_numbers_then_it_is_what_a_dict_says(self, values: list[int], rows: int) -> None:
        ds = ps.Dataset.from_tensor_slices(values).unique()
        assert events(ds, block_rows=rows) == list(dict.fromkeys(values))

    def test_given_a_leaf_that_cannot_be_hashed_then_it_fails_alone(self) -> None:
        class Odd:
            __hash__ = None  # type: ignore[assignment]

        rows = [1, Odd(), 2]
        ds = ps.Dataset.range(3).map(lambda i: rows[int(i)]).unique()
        assert events(ds) == [1, FAILED, 2]

    def test_given_failing_elements_then_it_goes_on_after_them(self) -> None:
        assert events(failing(6, 2).map(lambda x: [x // 2][0]).unique()) == [0, FAILED, 1, 2]

    def test_given_more_than_the_budget_then_the_error_names_the_op_and_the_way_out(self) -> None:
        ds = ps.Dataset.range(1_000_000).unique()
        with (
            pytest.raises(ps.errors.BudgetError, match=r"unique at .*test_unique\.py:\d+"),
            ds.iterate(memory="1MiB") as it,
        ):
            for _ in it:
                pass

    def test_given_any_input_then_the_cardinality_is_unknown(self) -> None:
        assert ps.Dataset.range(0).unique().cardinality() == ps.UNKNOWN
