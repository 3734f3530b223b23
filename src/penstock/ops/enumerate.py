"""`enumerate`: every element with its number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.spec import Spec, TensorSpec
from penstock.blocks.structure import LEAF, tuple_of
from penstock.errors import ElementError
from penstock.graph import checks
from penstock.graph.op import Op, Traits
from penstock.graph.running import Context, Running


@dataclass(frozen=True, eq=False, kw_only=True)
class Enumerate(Op):
    """Pairs of a number and an element."""

    start_at: int = 0

    name = "enumerate"
    traits = Traits(one_to_one=True)

    def __post_init__(self) -> None:
        checks.count(self.start_at, "enumerate(start=)")

    def start(self, context: Context) -> Running:
        return RunningEnumerate(self, context)

    def find_spec(self) -> Spec | None:
        spec = self.inputs[0].spec
        if spec is None:
            return None
        number = TensorSpec((), np.int64)
        return Spec(tuple_of([LEAF, spec.structure]), [number, *spec.leaves])

    def find_cardinality(self) -> int:
        return self.inputs[0].cardinality


class RunningEnumerate(Running):
    """Adds a column of numbers; an element that fails has had its number."""

    exact = True

    def __init__(self, op: Enumerate, context: Context) -> None:
        self._upstream = context.input()
        self._next = op.start_at

    def pull(self, rows: int) -> Block | None:
        try:
            block = self._upstream.pull(rows)
        except ElementError:
            self._next += 1
            raise
        if block is None:
            return None
        first, self._next = self._next, self._next + block.rows
        numbers = DenseColumn(np.arange(first, self._next, dtype=np.int64))
        structure = tuple_of([LEAF, block.structure])
        return Block(structure, [numbers, *block.columns], block.rows, origin=block.origin)

    def state(self) -> Any:
        return {"input": self._upstream.state(), "next": self._next}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._next = state["next"]
