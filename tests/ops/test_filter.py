"""`filter`."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, drain, same
from contract.streams import FAILED, events, failing

Point = namedtuple("Point", ["x", "y"])


def third(x: Any) -> bool:
    return bool(x % 3 == 0)


def rare(x: Any) -> bool:
    return bool(x % 97 == 5)


def never(x: Any) -> bool:
    return False


def short(word: bytes, x: Any) -> bool:
    return len(word) < 2


class TestFilter(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        pairs = ([b"a", b"bb", b"", b"dd"] * 5, np.arange(40).reshape(20, 2))
        return {
            "some": lambda: ps.Dataset.range(40).filter(third),
            "few": lambda: ps.Dataset.range(1000).filter(rare),
            "none": lambda: ps.Dataset.range(40).filter(never),
            "tuples": lambda: ps.Dataset.from_tensor_slices(pairs).filter(short),
            "twice": lambda: ps.Dataset.range(400).filter(third).filter(rare),
            "endless": lambda: ps.Dataset.counter().filter(third),
        }

    def test_given_a_predicate_then_those_with_a_yes_come(self) -> None:
        assert events(ps.Dataset.range(8).filter(lambda x: x % 3 == 0)) == [0, 3, 6]
        assert events(ps.Dataset.range(3).filter(lambda x: True)) == [0, 1, 2]

    def test_given_tuples_dicts_and_named_tuples_then_only_tuples_are_unpacked(self) -> None:
        data = ([1, 2], [3, 4])
        slices = ps.Dataset.from_tensor_slices
        assert events(slices(data).filter(lambda x, y: x + y > 4)) == [(2, 4)]
        assert events(slices({"a": [1, 2]}).filter(lambda e: e["a"] > 1)) == [{"a": 2}]
        assert events(slices(Point(*data)).filter(lambda p: p.y > 3)) == [Point(2, 4)]

    @pytest.mark.parametrize("rows", [1, 2, 3, 64])
    def test_given_failing_elements_then_it_goes_on_after_them(self, rows: int) -> None:
        def check(x: Any) -> bool:
            if x == 4:
                raise ValueError("four")
            return bool(x != 1)

        got = events(failing(7, 2).filter(check), block_rows=rows)
        assert got == [0, FAILED, 3, FAILED, 5, 6]

    def test_given_a_failing_predicate_then_the_error_names_the_element_and_the_line(self) -> None:
        with pytest.raises(
            ps.errors.FunctionError,
            match=r"filter at .*test_filter\.py:\d+.*element 2.*ZeroDivisionError.*test_filter",
        ):
            list(ps.Dataset.range(-2, 3).filter(lambda x: 1 // int(x) < 5))

    @pytest.mark.parametrize("rows", [1, 64])
    @pytest.mark.parametrize("answer", [3, 1.5, [True, False], None, (True, True)])
    def test_given_an_answer_that_is_neither_yes_nor_no_then_it_is_an_error(
        self, answer: Any, rows: int
    ) -> None:
        ds = ps.Dataset.range(4).filter(lambda x: answer if x == 2 else True)
        it = iter(ds.with_options(ps.Options(block_rows=rows)))
        assert [int(next(it)), int(next(it))] == [0, 1]
        with pytest.raises(ps.errors.DataError, match="element 2"):
            next(it)
        assert int(next(it)) == 3

    def test_given_any_input_then_the_cardinality_is_unknown(self) -> None:
        assert ps.Dataset.range(0).filter(third).cardinality() == ps.UNKNOWN
        assert ps.Dataset.counter().filter(third).cardinality() == ps.UNKNOWN

    def test_given_no_function_then_declaring_fails_and_names_the_line(self) -> None:
        with pytest.raises(TypeError, match=r"filter\(predicate=\) at .*test_filter\.py:\d+"):
            ps.Dataset.range(3).filter(3)  # type: ignore[arg-type]


def test_given_a_predicate_that_draws_then_it_depends_on_seed_and_epoch_and_not_on_blocks() -> None:
    ds = ps.Dataset.range(500).filter(lambda x: ps.random.uniform() < 0.5)
    first = drain(ds, limit=500)
    assert same(first, drain(ds.with_options(ps.Options(block_rows=3)), limit=500))
    assert not same(first, drain(ds, limit=500, epoch=1))
    assert 200 < len(first) < 300
