"""`Dataset.counter`: numbers without end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.spec import Spec, TensorSpec
from penstock.blocks.structure import LEAF
from penstock.errors import ArgumentTypeError
from penstock.graph import checks
from penstock.graph.op import INFINITE, Op
from penstock.graph.running import Context, Running


@dataclass(frozen=True, eq=False, kw_only=True)
class Counter(Op):
    """`start_at`, `start_at + step`, and so on."""

    start_at: float = 0
    step: float = 1
    dtype: np.dtype[Any]

    name = "counter"

    def __post_init__(self) -> None:
        for value, call in ((self.start_at, "counter(start=)"), (self.step, "counter(step=)")):
            if self.dtype.kind in "iu" or not isinstance(value, float):
                checks.count(value, call)
        if self.dtype.kind not in "iuf":
            raise ArgumentTypeError(
                self.fail(f"expected a dtype of numbers, such as np.int64, got {self.dtype}.")
            )

    def start(self, context: Context) -> Running:  # noqa: ARG002
        return RunningCounter(self)

    def find_spec(self) -> Spec:
        return Spec(LEAF, [TensorSpec((), self.dtype)])

    def find_cardinality(self) -> int:
        return INFINITE


class RunningCounter(Running):
    """Numbers made as they are asked for."""

    exact = True

    def __init__(self, op: Counter) -> None:
        self._op = op
        self._at = 0

    def pull(self, rows: int) -> Block | None:
        first, self._at = self._at, self._at + rows
        values = np.arange(first, self._at) * self._op.step + self._op.start_at
        return Block(LEAF, [DenseColumn(values.astype(self._op.dtype, copy=False))], rows)

    def state(self) -> Any:
        return {"at": self._at}

    def restore(self, state: Any) -> None:
        self._at = state["at"]
