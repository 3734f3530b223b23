"""`shard`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, failing


def yes(x: int) -> bool:
    return True


class TestShard(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        rows = {"a": np.arange(40).reshape(20, 2), "b": [b"x", b"yy"] * 10}
        return {
            "of arrays": lambda: ps.Dataset.from_tensor_slices(rows).shard(3, 1),
            "of a stream": lambda: ps.Dataset.range(100).filter(yes).shard(7, 6),
            "one": lambda: ps.Dataset.range(10).filter(yes).shard(1, 0),
            "more than elements": lambda: ps.Dataset.range(3).shard(7, 5),
            "endless": lambda: ps.Dataset.counter().shard(4, 2),
        }

    @pytest.mark.parametrize("index, expected", [(0, [0, 3, 6]), (1, [1, 4, 7]), (2, [2, 5])])
    def test_given_an_index_then_its_elements_come(self, index: int, expected: list[int]) -> None:
        assert events(ps.Dataset.range(8).shard(3, index)) == expected
        assert events(ps.Dataset.range(8).filter(yes).shard(3, index)) == expected

    def test_given_a_source_with_random_access_then_the_others_are_not_read(self) -> None:
        ds = ps.Dataset.range(10**15).shard(10**15 // 2, 7)
        assert events(ds) == [7, 7 + 10**15 // 2]

    @pytest.mark.parametrize("rows", [1, 2, 3, 64])
    def test_given_a_failing_element_then_the_shards_stay_in_step(self, rows: int) -> None:
        even, odd = (failing(7, 2).shard(2, index) for index in (0, 1))
        assert events(even, block_rows=rows) == [0, FAILED, 4, 6]
        assert events(odd, block_rows=rows) == [1, FAILED, 3, 5]

    def test_given_lengths_then_the_cardinality_is_tf_datas(self) -> None:
        assert ps.Dataset.range(5).shard(3, 0).cardinality() == 2
        assert ps.Dataset.range(5).shard(3, 2).cardinality() == 1
        assert ps.Dataset.counter().shard(3, 2).cardinality() == ps.INFINITE
        assert ps.Dataset.range(5).filter(yes).shard(3, 2).cardinality() == ps.UNKNOWN

    @pytest.mark.parametrize("shards, index", [(3, 3), (3, -1), (0, 0)])
    def test_given_a_wrong_index_then_declaring_fails_and_names_the_line(
        self, shards: int, index: int
    ) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"shard.*test_shard\.py:\d+"):
            ps.Dataset.range(3).shard(shards, index)
