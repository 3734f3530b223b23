"""`skip`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, failing


def yes(x: int) -> bool:
    return True


class TestSkip(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        rows = {"a": np.arange(40).reshape(20, 2), "b": [b"x", b"yy"] * 10}
        return {
            "of arrays": lambda: ps.Dataset.from_tensor_slices(rows).skip(7),
            "of a stream": lambda: ps.Dataset.range(20).filter(yes).skip(7),
            "more than there are": lambda: ps.Dataset.range(5).filter(yes).skip(9),
            "more rows than there are": lambda: ps.Dataset.range(5).skip(9),
            "none": lambda: ps.Dataset.range(5).skip(0),
            "all": lambda: ps.Dataset.range(5).skip(-1),
            "of an endless one": lambda: ps.Dataset.counter().skip(70).take(9),
        }

    def test_given_a_count_then_the_rest_comes(self) -> None:
        assert events(ps.Dataset.range(6).skip(4)) == [4, 5]
        assert events(ps.Dataset.range(6).filter(yes).skip(4)) == [4, 5]

    def test_given_minus_one_then_nothing_comes(self) -> None:
        assert events(ps.Dataset.range(6).skip(-1)) == []
        assert events(ps.Dataset.counter().skip(-1)) == []

    def test_given_a_source_with_random_access_then_what_is_skipped_is_not_read(self) -> None:
        assert events(ps.Dataset.range(10**15).skip(10**15 - 2)) == [10**15 - 2, 10**15 - 1]

    @pytest.mark.parametrize("rows", [1, 2, 5, None])
    def test_given_a_failing_element_then_it_is_raised_and_not_counted(self, rows: int | None) -> None:
        # take(3) gives 0, 1, the failure and 3: skip(3) goes on where it has ended.
        assert events(failing(7, 2).skip(3), block_rows=rows) == [FAILED, 4, 5, 6]
        assert events(failing(7, 5).skip(3), block_rows=rows) == [3, 4, FAILED, 6]

    def test_given_lengths_then_the_cardinality_is_tf_datas(self) -> None:
        unknown = ps.Dataset.range(5).filter(yes)
        assert ps.Dataset.range(5).skip(3).cardinality() == 2
        assert ps.Dataset.range(5).skip(9).cardinality() == 0
        assert ps.Dataset.range(5).skip(-1).cardinality() == 0
        assert ps.Dataset.counter().skip(9).cardinality() == ps.INFINITE
        assert unknown.skip(9).cardinality() == ps.UNKNOWN

    def test_given_a_wrong_count_then_declaring_fails_and_names_the_line(self) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"skip\(count=\) at .*test_skip\.py:\d+"):
            ps.Dataset.range(3).skip(-2)
