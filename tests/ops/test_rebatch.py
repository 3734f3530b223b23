"""`rebatch`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, failing


def vector(n: Any) -> Any:
    return np.full(int(n), int(n))


class TestRebatch(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        rows = {"a": np.arange(40).reshape(20, 2), "b": [b"x", b"yy"] * 10}
        lengths = ps.Dataset.from_tensor_slices([3, 1, 0, 4, 2, 0, 0, 5])
        return {
            "smaller": lambda: ps.Dataset.range(22).batch(4).rebatch(3),
            "larger": lambda: ps.Dataset.range(22).batch(2).rebatch(7),
            "dropped": lambda: ps.Dataset.range(22).batch(4).rebatch(3, drop_remainder=True),
            "divided": lambda: ps.Dataset.range(24).batch(4, drop_remainder=True).rebatch(2),
            "nest": lambda: ps.Dataset.from_tensor_slices(rows).batch(6).rebatch(4),
            "list": lambda: ps.Dataset.range(22).batch(4).rebatch([1, 2, 5]),
            "list with none": lambda: ps.Dataset.from_tensor_slices(rows).batch(6).rebatch([0, 2, 0, 3]),
            "several lengths": lambda: lengths.map(vector).rebatch(4),
            "endless": lambda: ps.Dataset.counter().batch(4).rebatch(3),
            "empty": lambda: ps.Dataset.range(0).batch(3).rebatch(2),
        }

    def test_given_a_size_then_rows_are_stacked_anew(self) -> None:
        got = events(ps.Dataset.range(10).batch(4).rebatch(3))
        assert got == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]

    def test_given_drop_remainder_then_a_short_last_batch_is_left_out(self) -> None:
        got = events(ps.Dataset.range(10).batch(4).rebatch(3, drop_remainder=True))
        assert got == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]

    def test_given_a_list_then_its_sizes_come_in_turn(self) -> None:
        got = events(ps.Dataset.range(8).batch(3).rebatch([1, 2]))
        assert got == [[0], [1, 2], [3], [4, 5], [6], [7]]
        nine = ps.Dataset.range(9).batch(4).rebatch([1, 3], drop_remainder=True)
        assert events(nine) == [[0], [1, 2, 3], [4], [5, 6, 7], [8]]

    def test_given_a_size_of_none_in_a_list_then_a_batch_of_no_rows_comes(self) -> None:
        got = events(ps.Dataset.range(4).batch(3).rebatch([2, 0]))
        assert got == [[0, 1], [], [2, 3], []]

    @given(
        st.integers(0, 3000),
        st.integers(1, 90),
        st.lists(st.integers(0, 70), min_size=1, max_size=4).filter(any),
        st.sampled_from([None, 1, 5]),
    )
    @settings(max_examples=60, deadline=None)
    def test_given_any_sizes_then_every_row_comes_once_in_batches_of_these(
        self, count: int, before: int, sizes: list[int], rows: int | None
    ) -> None:
        got = events(ps.Dataset.range(count).batch(before).rebatch(sizes), limit=10_000, block_rows=rows)
        expected, at = [], 0
        for size in itertools.cycle(sizes):
            if at == count and (size or not expected):
                break
            expected.append(list(range(at, min(at + size, count))))
            at = min(at + size, count)
        assert got == expected

    @pytest.mark.parametrize("rows", [1, 2, 64])
    def test_given_a_failing_element_then_the_rows_gathered_before_it_stay(self, rows: int) -> None:
        ds = failing(5, 2).map(lambda x: np.array([int(x)] * 2)).rebatch(3)
        assert events(ds, block_rows=rows) == [[0, 0, 1], FAILED, [1, 3, 3], [4, 4]]

    def test_given_specs_then_the_size_is_known_where_tf_data_knows_it(self) -> None:
        ten = ps.Dataset.range(10)

        def size(ds: ps.Dataset) -> int | None:
            found: int | None = ds.element_spec.shape[0]
            return found

        assert size(ten.batch(4).rebatch(3)) is None
        assert size(ten.batch(4).rebatch(3, drop_remainder=True)) == 3
        assert size(ten.batch(4).rebatch([2, 2], drop_remainder=True)) == 2
        assert size(ten.batch(4).rebatch([1, 2], drop_remainder=True)) is None
        assert size(ten.batch(4, drop_remainder=True).rebatch(2)) == 2
        assert size(ten.batch(4, drop_remainder=True).rebatch(3)) is None

    def test_given_any_input_then_the_cardinality_is_unknown(self) -> None:
        assert ps.Dataset.range(4).batch(2).rebatch(2).cardinality() == ps.UNKNOWN

    @pytest.mark.parametrize("size", [0, -1, [], [0, 0], [2, -1]])
    def test_given_a_wrong_size_then_declaring_fails_and_names_the_line(self, size: Any) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"rebatch.*test_rebatch\.py:\d+"):
            ps.Dataset.range(3).batch(2).rebatch(size)

    def test_given_scalars_then_declaring_fails(self) -> None:
        with pytest.raises(ps.errors.ArgumentError, match="Add a batch before it"):
            ps.Dataset.range(3).rebatch(2)

    @pytest.mark.parametrize("size", [3, [1, 4]])
    @pytest.mark.parametrize("rows", [None, 1, 2])
    def test_given_ragged_batches_then_they_stay_ragged(self, size: Any, rows: int | None) -> None:
        made = ps.Dataset.range(8).map(lambda n: {"x": vector(n), "n": n})
        ragged = made.ragged_batch(2, row_splits_dtype=np.int32).rebatch(size)
        got = list(ragged.with_options(ps.Options(block_rows=rows)))
        assert all(isinstance(one["x"], ps.Ragged) for one in got)
        assert [one["x"].row_splits.dtype for one in got] == [np.int32] * len(got)
        assert [row.tolist() for one in got for row in one["x"]] == [[n] * n for n in range(8)]
        assert [len(one["x"]) for one in got] == [len(one["n"]) for one in got]
        assert [len(one["n"]) for one in got] == ([3, 3, 2] if size == 3 else [1, 4, 1, 2])

    def test_given_rows_that_are_ragged_themselves_then_they_stay_so(self) -> None:
        made = ps.Dataset.range(6).map(lambda n: np.full((int(n) % 3, 1 + int(n) % 2), int(n)))
        expected = [one.tolist() for one in made]
        got = list(made.ragged_batch(2).rebatch(3))
        assert [row for one in got for row in one.to_list()] == expected
        assert [type(one.values) for one in got] == [ps.Ragged, ps.Ragged]

    def test_given_ragged_rows_of_one_length_then_they_stay_ragged(self) -> None:
        unknown = ps.Dataset.range(6).map(lambda n: vector(2 + 0 * n))
        assert all(isinstance(one, ps.Ragged) for one in unknown.ragged_batch(2).rebatch(3))
