"""`unbatch`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, failing

LENGTHS = [3, 1, 0, 4, 2, 0, 0, 5]


def vector(n: Any) -> Any:
    return np.full(int(n), int(n))


def matrix(n: Any) -> Any:
    return np.full((2, int(n)), int(n))


def words(n: Any) -> Any:
    return np.array([b"w" * i for i in range(int(n))], object)


class TestUnbatch(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        rows = {"a": np.arange(40).reshape(20, 2), "b": [b"x", b"yy"] * 10}
        lengths = ps.Dataset.from_tensor_slices(LENGTHS)
        return {
            "dense and bytes": lambda: ps.Dataset.from_tensor_slices(rows).batch(3).unbatch(),
            "whole": lambda: ps.Dataset.range(12).batch(3).unbatch(),
            "several lengths": lambda: lengths.map(vector).unbatch(),
            "several shapes": lambda: lengths.map(matrix).unbatch(),
            "words": lambda: lengths.map(words).unbatch(),
            "twice": lambda: ps.Dataset.range(24).batch(2).batch(3).unbatch().unbatch(),
            "endless": lambda: ps.Dataset.counter().batch(3).unbatch(),
            "empty": lambda: ps.Dataset.range(0).batch(3).unbatch(),
        }

    def test_given_batches_then_their_rows_come(self) -> None:
        assert events(ps.Dataset.range(5).batch(2).unbatch()) == [0, 1, 2, 3, 4]

    def test_given_batches_of_no_rows_then_they_are_passed_over(self) -> None:
        got = events(ps.Dataset.from_tensor_slices([2, 0, 1]).map(vector).unbatch())
        assert got == [2, 2, 1]

    def test_given_dense_batches_then_nothing_is_copied(self) -> None:
        data = np.arange(24).reshape(4, 3, 2)
        with ps.Dataset.from_tensor_slices(data).unbatch().iterate() as it:
            assert np.shares_memory(next(it), data)

    @pytest.mark.parametrize("rows", [1, 2, 64])
    def test_given_lengths_that_differ_within_an_element_then_only_it_fails(self, rows: int) -> None:
        def pairs() -> Iterator[Any]:
            yield np.arange(2), np.arange(2)
            yield np.arange(2), np.arange(3)
            yield np.arange(1), np.arange(1)

        ds = ps.Dataset.from_generator(pairs).unbatch()
        assert events(ds, block_rows=rows) == [(0, 0), (1, 1), FAILED, (0, 0)]
        with pytest.raises(ps.errors.DataError, match=r"\[0\]': 2, 'element\[1\]': 3} in element 1"):
            list(ds)

    def test_given_scalars_that_only_the_run_can_know_then_each_fails(self) -> None:
        ds = ps.Dataset.from_generator(lambda: iter([1, 2])).unbatch()
        assert events(ds) == [FAILED, FAILED]

    def test_given_failing_elements_then_it_goes_on_after_them(self) -> None:
        got = events(failing(4, 2).map(lambda x: np.array([int(x)] * 2)).unbatch())
        assert got == [0, 0, 1, 1, FAILED, 3, 3]

    def test_given_specs_then_those_of_the_rows_follow(self) -> None:
        ds = ps.Dataset.from_tensors((np.zeros((3, 4)), np.zeros(3))).unbatch()
        assert ds.element_spec == (ps.TensorSpec((4,), "float64"), ps.TensorSpec((), "float64"))

    def test_given_lengths_then_the_cardinality_is_tf_datas(self) -> None:
        five, endless = ps.Dataset.range(5), ps.Dataset.counter()
        unknown = five.filter(lambda x: x > 1)
        assert five.batch(2, drop_remainder=True).unbatch().cardinality() == 4
        assert five.batch(2).unbatch().cardinality() == ps.UNKNOWN
        assert endless.batch(2).unbatch().cardinality() == ps.INFINITE
        assert unknown.batch(2, drop_remainder=True).unbatch().cardinality() == ps.UNKNOWN

    def test_given_what_cannot_be_taken_apart_then_declaring_fails_and_names_the_line(
        self,
    ) -> None:
        with pytest.raises(ValueError, match=r"unbatch at .*test_unbatch\.py:\d+.*scalar"):
            ps.Dataset.range(3).unbatch()
        with pytest.raises(ValueError, match=r"one length.*2.*3"):
            ps.Dataset.from_tensors((np.zeros(2), np.zeros(3))).unbatch()
