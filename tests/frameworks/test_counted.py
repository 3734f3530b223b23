"""A run that is held to the length that was asserted."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock.frameworks.counted import Counted, counted


def asserted(count: int, rows: int = 5) -> ps.Dataset:
    return ps.Dataset.range(rows).filter(lambda x: x >= 0).apply(ps.assert_cardinality(count))


def taken(run: Any, count: int) -> list[int]:
    """So many elements, as one asks for them who was told how many there are."""
    with run:
        return [int(next(run)) for _ in range(count)]


def test_given_the_right_length_then_all_elements_come() -> None:
    assert taken(counted(asserted(5)), 5) == [0, 1, 2, 3, 4]


def test_given_a_length_that_is_too_small_then_it_is_found_out_without_asking_for_more() -> None:
    with pytest.raises(ps.errors.CardinalityError, match="expected 3 elements, got more"):
        taken(counted(asserted(3)), 3)


def test_given_a_length_that_is_too_small_before_a_batch_then_it_is_found_out_too() -> None:
    with pytest.raises(ps.errors.CardinalityError, match="expected 4 elements, got more"):
        next(counted(asserted(4).batch(4)))


def test_given_an_element_that_fails_after_the_last_then_it_is_raised_in_its_place() -> None:
    def refuse(x: Any) -> Any:
        if x == 3:
            raise ValueError("no")
        return x

    ds = ps.Dataset.range(4).map(refuse).apply(ps.assert_cardinality(3))
    with counted(ds) as run:
        assert [int(next(run)) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(ps.errors.FunctionError):
            next(run)
        assert list(run) == []


def test_given_no_assertion_then_the_run_is_as_it_is() -> None:
    with counted(ps.Dataset.range(3)) as run:
        assert not isinstance(run, Counted)
