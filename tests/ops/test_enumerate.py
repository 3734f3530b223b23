"""`enumerate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, same
from contract.streams import FAILED, events, failing


class TestEnumerate(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        pairs = (np.arange(20).reshape(10, 2), [b"x", b"yy"] * 5)
        return {
            "numbers": lambda: ps.Dataset.range(20, 40).enumerate(),
            "from five": lambda: ps.Dataset.range(20, 40).enumerate(start=5),
            "tuples": lambda: ps.Dataset.from_tensor_slices(pairs).enumerate(),
            "empty": lambda: ps.Dataset.range(0).enumerate(),
        }

    def test_given_a_start_then_numbers_of_64_bits_count_from_it(self) -> None:
        got = list(ps.Dataset.range(7, 9).enumerate(start=-1))
        assert same(got, [(np.int64(-1), np.int64(7)), (np.int64(0), np.int64(8))])

    def test_given_tuples_then_they_stay_one_part(self) -> None:
        got = events(ps.Dataset.from_tensor_slices(([1, 2], [3, 4])).enumerate())
        assert got == [(0, (1, 3)), (1, (2, 4))]

    @pytest.mark.parametrize("rows", [1, 2, 7])
    def test_given_a_failing_element_then_it_has_had_its_number(self, rows: int) -> None:
        got = events(failing(5, 2).enumerate(start=10), block_rows=rows)
        assert got == [(10, 0), (11, 1), FAILED, (13, 3), (14, 4)]

    def test_given_a_wrong_start_then_declaring_fails_and_names_the_line(self) -> None:
        with pytest.raises(TypeError, match=r"enumerate.*test_enumerate\.py:\d+"):
            ps.Dataset.range(3).enumerate(start="1")  # type: ignore[arg-type]
