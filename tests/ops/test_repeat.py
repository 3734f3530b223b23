"""`repeat`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, failing


class TestRepeat(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "thrice": lambda: ps.Dataset.range(7).repeat(3),
            "endless": lambda: ps.Dataset.range(7).repeat(),
            "never": lambda: ps.Dataset.range(7).repeat(0),
            "of nothing": lambda: ps.Dataset.range(0).repeat(3),
            "of nothing, endless": lambda: ps.Dataset.range(0).repeat(),
            "twice twice": lambda: ps.Dataset.range(3).repeat(2).repeat(2),
            "into batches": lambda: ps.Dataset.range(7).repeat().batch(4).take(20),
        }

    def test_given_a_count_then_the_elements_come_so_often(self) -> None:
        assert events(ps.Dataset.range(3).repeat(2)) == [0, 1, 2, 0, 1, 2]
        assert events(ps.Dataset.range(3).repeat(0)) == []

    @pytest.mark.parametrize("count", [2, 29, 1000])
    @pytest.mark.parametrize("length", [1, 3, 255, 256, 257])
    def test_given_few_rows_then_they_come_in_their_order_again_and_again(
        self, length: int, count: int
    ) -> None:
        rows = {"a": np.arange(length), "b": np.array([f"{i}" * (i % 5) for i in range(length)])}
        ds = ps.Dataset.from_tensor_slices(rows).repeat(count)
        got = list(ds.batch(100))
        assert np.concatenate([one["a"] for one in got]).tolist() == list(range(length)) * count
        assert [text for one in got for text in one["b"]] == rows["b"].tolist() * count
        assert sum(1 for _ in ds.take(2 * length)) == 2 * length

    @pytest.mark.parametrize("taken", [0, 1, 2, 3, 4, 6, 63, 64, 65, 298, 299, 300])
    def test_given_few_rows_then_a_state_goes_on_within_any_repetition(self, taken: int) -> None:
        ds = ps.Dataset.range(3).repeat(100)
        it = iter(ds.iterate())
        for _ in range(taken):
            next(it)
        state = it.state()
        it.close()
        assert [int(x) for x in ds.iterate(state=state)] == ([0, 1, 2] * 100)[taken:]

    @pytest.mark.parametrize("count", [None, -1])
    def test_given_no_count_then_there_is_no_end(self, count: int | None) -> None:
        assert events(ps.Dataset.range(2).repeat(count), limit=5) == [0, 1, 0, 1, 0]

    def test_given_an_input_that_turns_out_empty_then_endless_ends(self) -> None:
        assert events(ps.Dataset.range(3).filter(lambda x: x > 9).repeat()) == []

    def test_given_an_input_that_only_fails_then_endless_ends_after_one_round(self) -> None:
        assert events(failing(2, 0, 1).repeat()) == [FAILED, FAILED]

    def test_given_a_failing_element_then_every_repetition_goes_on_after_it(self) -> None:
        assert events(failing(3, 1).repeat(2)) == [0, FAILED, 2, 0, FAILED, 2]

    def test_when_a_repetition_has_ended_then_its_input_is_closed_before_the_next(self) -> None:
        seen: list[str] = []

        def letters() -> Iterator[int]:
            seen.append("open")
            try:
                yield 1
                yield 2
            finally:
                seen.append("close")

        ds = ps.Dataset.from_generator(letters).take(1).repeat(2)
        assert events(ds) == [1, 1]
        assert seen == ["open", "close", "open", "close"]

    def test_given_many_repetitions_then_no_more_than_one_is_open(self) -> None:
        with ps.Dataset.range(2).repeat().iterate() as it:
            for _ in range(50):
                next(it)
            assert len(it._run.root._context._inputs) <= 1

    def test_given_randomness_then_each_repetition_has_its_own(self) -> None:
        ds = ps.Dataset.random(rerandomize_each_iteration=True).take(4).repeat(2)
        got = events(ds)
        assert got[:4] != got[4:]

    def test_given_lengths_then_the_cardinality_is_tf_datas(self) -> None:
        unknown = ps.Dataset.range(5).filter(lambda x: x > 1)
        assert ps.Dataset.range(5).repeat(3).cardinality() == 15
        assert ps.Dataset.range(5).repeat().cardinality() == ps.INFINITE
        assert ps.Dataset.range(0).repeat().cardinality() == 0
        assert ps.Dataset.counter().repeat(0).cardinality() == 0
        assert ps.Dataset.counter().repeat(2).cardinality() == ps.INFINITE
        assert unknown.repeat(3).cardinality() == ps.UNKNOWN
        assert unknown.repeat().cardinality() == ps.INFINITE
        assert unknown.repeat(0).cardinality() == 0

    def test_given_a_wrong_count_then_declaring_fails_and_names_the_line(self) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"repeat.*test_repeat\.py:\d+"):
            ps.Dataset.range(3).repeat(-2)
