"""`take`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, failing


class TestTake(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "some": lambda: ps.Dataset.range(20).take(7),
            "more than there are": lambda: ps.Dataset.range(5).take(9),
            "none": lambda: ps.Dataset.range(5).take(0),
            "all": lambda: ps.Dataset.range(5).take(-1),
            "of an endless one": lambda: ps.Dataset.counter().take(70),
            "batches": lambda: ps.Dataset.range(20).batch(3).take(4),
        }

    def test_given_a_count_then_the_first_come(self) -> None:
        assert events(ps.Dataset.range(10).take(3)) == [0, 1, 2]

    def test_given_minus_one_then_all_come(self) -> None:
        assert events(ps.Dataset.range(3).take(-1)) == [0, 1, 2]

    def test_given_a_failing_element_then_it_is_not_counted(self) -> None:
        assert events(failing(9, 1, 2).take(3)) == [0, FAILED, FAILED, 3, 4]

    def test_given_a_count_then_no_more_than_that_is_read(self) -> None:
        read = []

        def note(x: int) -> int:
            read.append(int(x))
            return x

        assert len(list(ps.Dataset.range(1000).map(note).take(3))) == 3
        assert sorted(set(read)) == [0, 1, 2]

    def test_when_it_has_ended_then_its_input_is_closed_though_the_run_goes_on(self) -> None:
        generator = (i for i in range(1000))
        ds = ps.Dataset.from_generator(lambda: generator).take(3).shuffle(3)
        with ds.iterate() as it:
            next(it)
            assert generator.gi_frame is None

    def test_given_lengths_then_the_cardinality_is_tf_datas(self) -> None:
        unknown = ps.Dataset.range(5).filter(lambda x: x > 1)
        assert ps.Dataset.range(5).take(3).cardinality() == 3
        assert ps.Dataset.range(5).take(9).cardinality() == 5
        assert ps.Dataset.range(5).take(-1).cardinality() == 5
        assert ps.Dataset.counter().take(9).cardinality() == 9
        assert ps.Dataset.counter().take(-1).cardinality() == ps.INFINITE
        assert unknown.take(0).cardinality() == ps.UNKNOWN

    def test_given_a_wrong_count_then_declaring_fails_and_names_the_line(self) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"take\(count=\) at .*test_take\.py:\d+"):
            ps.Dataset.range(3).take(-2)
        with pytest.raises(ps.errors.ArgumentTypeError, match=r"2\.5"):
            ps.Dataset.range(3).take(2.5)  # type: ignore[arg-type]
