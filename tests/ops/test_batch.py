"""`batch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from contract.op_contract import OpContract, same

import penstock as ps


class TestBatch(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        pairs = (np.arange(60).reshape(20, 3), np.arange(20.0))
        words = [b"a", b"", b"ccc", b"dd", b"e"] * 4
        return {
            "whole": lambda: ps.Dataset.range(12).batch(4),
            "remainder": lambda: ps.Dataset.range(11).batch(4),
            "dropped": lambda: ps.Dataset.range(11).batch(4, drop_remainder=True),
            "tuples": lambda: ps.Dataset.from_tensor_slices(pairs).batch(6),
            "bytes": lambda: ps.Dataset.from_tensor_slices({"w": words}).batch(3),
            "twice": lambda: ps.Dataset.range(25).batch(2).batch(3),
            "empty": lambda: ps.Dataset.range(0).batch(3),
        }

    def test_given_rows_then_they_are_stacked_in_order(self) -> None:
        got = list(ps.Dataset.range(5).batch(2))
        assert same(got, [np.array([0, 1]), np.array([2, 3]), np.array([4])])

    def test_given_unequal_shapes_then_the_error_names_both_and_the_rest_goes_on(self) -> None:
        lengths = [2, 2, 3, 2, 1, 1]
        ds = ps.Dataset.range(6).map(lambda i: np.zeros(lengths[int(i)])).batch(2)
        it = iter(ds)
        assert next(it).shape == (2, 2)
        with pytest.raises(ps.errors.DataError, match=r"\(3,\) in element 2 and \(2,\) in element 3"):
            next(it)
        assert next(it).shape == (2, 1)
        with pytest.raises(StopIteration):
            next(it)

    @pytest.mark.parametrize("size", [0, -1])
    def test_given_a_wrong_size_then_declaring_fails_and_names_the_line(self, size: int) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"batch_size.*test_batch\.py:\d+"):
            ps.Dataset.range(3).batch(size)
