"""`take_while`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, failing


def small(x: Any) -> bool:
    return bool(x < 11)


def big(x: Any) -> bool:
    return bool(x > 11)


class TestTakeWhile(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "some": lambda: ps.Dataset.range(40).take_while(small),
            "all": lambda: ps.Dataset.range(5).take_while(small),
            "none": lambda: ps.Dataset.range(5).take_while(big),
            "of an endless one": lambda: ps.Dataset.counter().take_while(small),
        }

    def test_given_a_no_then_it_ends_for_good(self) -> None:
        assert events(ps.Dataset.range(6).take_while(lambda x: x != 2)) == [0, 1]

    def test_given_tuples_then_their_parts_are_arguments(self) -> None:
        ds = ps.Dataset.from_tensor_slices(([1, 2, 3], [4, 5, 6]))
        assert events(ds.take_while(lambda x, y: x + y < 8)) == [(1, 4), (2, 5)]

    @pytest.mark.parametrize("rows", [1, 2, 3, 64])
    def test_given_failing_elements_then_it_goes_on_after_them(self, rows: int) -> None:
        def check(x: Any) -> bool:
            if x == 3:
                raise ValueError("three")
            return bool(x < 5)

        got = events(failing(9, 1).take_while(check), block_rows=rows)
        assert got == [0, FAILED, 2, FAILED, 4]

    @pytest.mark.parametrize("rows", [1, 2, 64])
    def test_given_a_failure_behind_the_end_then_nobody_sees_it(self, rows: int) -> None:
        def check(x: Any) -> bool:
            if x == 3:
                raise ValueError("three")
            return bool(x < 2)

        assert events(ps.Dataset.range(9).take_while(check), block_rows=rows) == [0, 1]

    def test_when_it_has_ended_then_its_input_is_closed_though_the_run_goes_on(self) -> None:
        generator = (i for i in range(1000))
        ds = ps.Dataset.from_generator(lambda: generator).take_while(lambda x: x < 3).shuffle(3)
        with ds.iterate() as it:
            next(it)
            assert generator.gi_frame is None

    def test_given_any_input_then_the_cardinality_is_unknown(self) -> None:
        assert ps.Dataset.range(0).take_while(small).cardinality() == ps.UNKNOWN
        assert ps.Dataset.counter().take_while(small).cardinality() == ps.UNKNOWN

    def test_given_no_function_then_declaring_fails_and_names_the_line(self) -> None:
        with pytest.raises(TypeError, match=r"take_while.*test_take_while\.py:\d+"):
            ps.Dataset.range(3).take_while(None)  # type: ignore[arg-type]
