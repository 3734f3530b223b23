"""An op that cannot start leaves nothing of what it has started behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

import penstock as ps
from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.dataset import Dataset
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running


@dataclass(frozen=True, eq=False, kw_only=True)
class Source(Op):
    closed: list[str] = field(default_factory=list)

    name = "source"

    def start(self, context: Context) -> Running:
        return RunningSource(self.closed)

    def find_spec(self) -> Spec | None:
        return None

    def find_cardinality(self) -> int:
        return UNKNOWN


class RunningSource(Running):
    def __init__(self, closed: list[str]) -> None:
        self._closed = closed

    def pull(self, rows: int) -> Block | None:
        return None

    def close(self) -> None:
        self._closed.append("source")


@dataclass(frozen=True, eq=False, kw_only=True)
class Broken(Op):
    name = "broken"

    def start(self, context: Context) -> Running:
        for which in range(len(self.inputs)):
            context.input(which)
        raise ps.errors.PenstockError("cannot start")

    def find_spec(self) -> Spec | None:
        return None

    def find_cardinality(self) -> int:
        return UNKNOWN


def broken(closed: list[str]) -> Any:
    return Dataset(Broken(inputs=(Source(closed=closed), Source(closed=closed))))


def test_given_an_op_that_cannot_start_when_a_run_is_made_then_its_inputs_are_closed() -> None:
    closed: list[str] = []
    with pytest.raises(ps.errors.PenstockError, match="cannot start"):
        broken(closed).iterate()
    assert closed == ["source", "source"]


def test_given_an_op_that_cannot_start_then_its_run_does_not_stay_in_the_budget() -> None:
    budget = ps.Budget("16MiB")
    with pytest.raises(ps.errors.PenstockError, match="cannot start"):
        broken([]).iterate(memory=budget)
    assert (budget.runs, budget.held) == (0, 0)


def test_given_an_op_below_one_that_cannot_start_then_it_closes_its_other_inputs_too() -> None:
    closed: list[str] = []
    good = Dataset(Source(closed=closed))
    with pytest.raises(ps.errors.PenstockError, match="cannot start"):
        ps.Dataset.zip(good, broken(closed)).iterate()
    assert closed == ["source"] * 3


def test_given_a_nested_dataset_that_cannot_start_then_what_it_started_is_closed_at_once() -> None:
    closed: list[str] = []
    it = ps.Dataset.range(3).flat_map(lambda _: broken(closed)).iterate()
    with pytest.raises(ps.errors.PenstockError, match="cannot start"):
        next(it)
    assert closed == ["source", "source"]
