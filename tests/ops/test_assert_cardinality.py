"""`assert_cardinality`, and `apply`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED, events, failing


def yes(x: int) -> bool:
    return True


class TestAssertCardinality(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "true": lambda: ps.Dataset.range(9).filter(yes).apply(ps.assert_cardinality(9)),
            "endless": lambda: ps.Dataset.counter().apply(ps.assert_cardinality(ps.INFINITE)),
            "empty": lambda: ps.Dataset.range(0).apply(ps.assert_cardinality(0)),
        }

    def test_given_a_length_then_the_dataset_has_it(self) -> None:
        assert len(ps.Dataset.range(9).filter(yes).apply(ps.assert_cardinality(9))) == 9

    @pytest.mark.parametrize("rows", [1, 2, 64])
    @pytest.mark.parametrize(
        "said, delivered, words",
        [
            (2, [0, 1], "expected 2 elements, got more"),
            (7, [0, 1, 2, 3, 4], "expected 7 elements, got only 5"),
            (ps.INFINITE, [0, 1, 2, 3, 4], "expected an endless dataset, got 5"),
        ],
    )
    def test_given_a_wrong_length_then_it_raises_after_the_elements_that_were_promised(
        self, said: int, delivered: list[int], words: str, rows: int
    ) -> None:
        ds = ps.Dataset.range(5).apply(ps.assert_cardinality(said))
        it = iter(ds.with_options(ps.Options(block_rows=rows)))
        assert [int(next(it)) for _ in delivered] == delivered
        with pytest.raises(ps.errors.CardinalityError, match=rf"test_assert.*{words}"):
            next(it)

    def test_given_a_wrong_length_that_nobody_reads_up_to_then_nothing_is_raised(self) -> None:
        assert events(ps.Dataset.range(5).apply(ps.assert_cardinality(9)).take(5)) == [
            0,
            1,
            2,
            3,
            4,
        ]

    def test_given_failing_elements_then_they_are_not_counted(self) -> None:
        got = events(failing(4, 1).apply(ps.assert_cardinality(3)))
        assert got == [0, FAILED, 2, 3]

    def test_given_a_wrong_number_then_declaring_fails_and_names_the_line(self) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"test_assert_cardinality\.py:\d+"):
            ps.Dataset.range(3).apply(ps.assert_cardinality(-2))


def test_given_a_function_then_apply_gives_what_it_makes() -> None:
    assert events(ps.Dataset.range(5).apply(lambda ds: ds.skip(3))) == [3, 4]


def test_given_a_function_that_makes_no_dataset_then_apply_fails_and_names_the_line() -> None:
    with pytest.raises(TypeError, match=r"apply.*test_assert_cardinality\.py:\d+.*got 3"):
        ps.Dataset.range(5).apply(lambda ds: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="expected a function"):
        ps.Dataset.range(5).apply(3)  # type: ignore[arg-type]
