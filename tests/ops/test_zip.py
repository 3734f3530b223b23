"""`Dataset.zip`."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, failing

Point = namedtuple("Point", ["x", "y"])


def odd(x: int) -> bool:
    return bool(x % 2)


class TestZip(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        def numbers() -> ps.Dataset:
            return ps.Dataset.range(30)

        words = [b"a", b"", b"ccc"] * 5
        return {
            "two": lambda: ps.Dataset.zip(numbers(), numbers().batch(2)),
            "blocks of other sizes": lambda: ps.Dataset.zip(numbers().filter(odd), numbers()),
            "nest": lambda: ps.Dataset.zip(
                {"a": numbers(), "b": (ps.Dataset.from_tensor_slices(words), numbers())}
            ),
            "named tuple": lambda: ps.Dataset.zip(Point(numbers(), numbers())),
            "endless": lambda: ps.Dataset.zip(ps.Dataset.counter(), numbers().repeat()),
            "with itself": lambda: ps.Dataset.zip(*[numbers()] * 2),
            "empty": lambda: ps.Dataset.zip(numbers(), ps.Dataset.range(0)),
        }

    def test_given_two_then_pairs_come_until_the_shorter_ends(self) -> None:
        a, b = ps.Dataset.range(2), ps.Dataset.range(5, 9)
        assert events(ps.Dataset.zip(a, b)) == [(0, 5), (1, 6)]
        assert events(ps.Dataset.zip((b, a))) == [(5, 0), (6, 1)]
        assert events(ps.Dataset.zip(datasets=(a, b))) == [(0, 5), (1, 6)]

    def test_given_a_nest_then_elements_have_its_structure(self) -> None:
        a = ps.Dataset.range(1)
        pair = ps.Dataset.from_tensor_slices(([3], [4]))
        assert events(ps.Dataset.zip(a)) == [0]
        assert events(ps.Dataset.zip((a,))) == [(0,)]
        assert events(ps.Dataset.zip({"n": a, "m": (pair, a)})) == [{"n": 0, "m": ((3, 4), 0)}]
        assert events(ps.Dataset.zip(Point(a, a))) == [Point(0, 0)]

    def test_given_an_instance_then_it_is_ignored(self) -> None:
        assert events(ps.Dataset.range(9).zip(ps.Dataset.range(2))) == [0, 1]

    @pytest.mark.parametrize("rows", [1, 2, 3, 64])
    def test_given_a_failing_element_then_all_stay_in_step(self, rows: int) -> None:
        numbers = ps.Dataset.range(5)
        for pair in ((failing(5, 2), numbers), (numbers, failing(5, 2))):
            got = events(ps.Dataset.zip(*pair), block_rows=rows)
            assert got == [(0, 0), (1, 1), FAILED, (3, 3), (4, 4)]
        both = events(ps.Dataset.zip(failing(5, 1, 2), failing(5, 2, 3)), block_rows=rows)
        assert both == [(0, 0), FAILED, FAILED, FAILED, (4, 4)]

    def test_given_an_error_where_another_has_ended_then_it_ends(self) -> None:
        assert events(ps.Dataset.zip(failing(5, 2), ps.Dataset.range(2))) == [(0, 0), (1, 1)]

    def test_given_lengths_then_the_cardinality_is_tf_datas(self) -> None:
        five, endless, none = ps.Dataset.range(5), ps.Dataset.counter(), ps.Dataset.range(0)
        unknown = five.filter(odd)
        assert ps.Dataset.zip(five, ps.Dataset.range(3)).cardinality() == 3
        assert ps.Dataset.zip(five, endless).cardinality() == 5
        assert ps.Dataset.zip(endless, endless).cardinality() == ps.INFINITE
        assert ps.Dataset.zip(unknown, five).cardinality() == ps.UNKNOWN
        assert ps.Dataset.zip(unknown, endless).cardinality() == ps.UNKNOWN
        assert ps.Dataset.zip(none, unknown).cardinality() == ps.UNKNOWN

    @pytest.mark.parametrize(
        "wrong", [lambda a: [a, a], lambda a: (a, [a]), lambda a: {"x": [a]}, lambda a: []]
    )
    def test_given_a_list_then_declaring_fails_with_the_way_out(self, wrong: Callable[[Any], Any]) -> None:
        with pytest.raises(TypeError, match=r"zip at .*test_zip\.py:\d+.*list.*Use a tuple"):
            ps.Dataset.zip(wrong(ps.Dataset.range(3)))

    def test_given_no_datasets_then_declaring_fails(self) -> None:
        a = ps.Dataset.range(3)
        with pytest.raises(TypeError, match="got none"):
            ps.Dataset.zip()
        with pytest.raises(TypeError, match="got both"):
            ps.Dataset.zip(a, datasets=a)
        with pytest.raises(TypeError, match=r"got 3 at \[1\]"):
            ps.Dataset.zip(a, 3)
        with pytest.raises(TypeError, match=r"got \(\)"):
            ps.Dataset.zip(())

    def test_given_blocks_of_arrays_then_nothing_is_copied(self) -> None:
        left, right = np.arange(10), np.arange(10.0)
        zipped = ps.Dataset.zip(*map(ps.Dataset.from_tensor_slices, (left, right)))
        with zipped.iterate() as it:
            block = it._run.next_block()
            assert block is not None
            assert [
                np.shares_memory(column.buffers()[0], array)
                for column, array in zip(block.columns, (left, right), strict=True)
            ] == [True, True]
