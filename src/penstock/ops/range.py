"""`Dataset.range`: whole numbers in steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.spec import Spec, TensorSpec
from penstock.blocks.structure import LEAF
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph import checks
from penstock.graph.op import Op, Traits
from penstock.graph.running import Context, Running
from penstock.site import user_site


@dataclass(frozen=True, eq=False, kw_only=True)
class Range(Op):
    """Whole numbers from `start` up to `stop`."""

    start_at: int
    stop: int
    step: int
    dtype: np.dtype[Any]

    name = "range"
    positional = ("start_at", "stop", "step")
    said_as = {"dtype": "output_type"}
    traits = Traits(random_access=True)

    def __post_init__(self) -> None:
        if self.step == 0:
            raise ArgumentError(self.fail("expected a step other than 0, got 0."))

    def arguments(self) -> dict[str, Any]:
        said = super().arguments()
        if self.step == 1:
            del said["step"]
            if self.start_at == 0:
                del said["start_at"]
        if self.dtype == np.int64:
            del said["dtype"]
        return said

    def start(self, context: Context) -> Running:
        return RunningRange(self, context.rows_for(self.dtype.itemsize))

    def find_spec(self) -> Spec:
        return Spec(LEAF, [TensorSpec((), self.dtype)])

    def find_cardinality(self) -> int:
        return len(range(self.start_at, self.stop, self.step))


def bounds_of(args: tuple[Any, ...]) -> tuple[int, int, int]:
    """Start, stop and step out of the arguments of `range`."""
    if not 1 <= len(args) <= 3:
        raise ArgumentTypeError(
            f"range at {user_site()}: expected stop, or start and stop, or start, stop and step, "
            f"got {len(args)} arguments."
        )
    numbers = [checks.count(arg, "range()") for arg in args]
    if len(numbers) == 1:
        return 0, numbers[0], 1
    return numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else 1


class RunningRange(Running):
    """Numbers made as they are asked for."""

    exact = True

    def __init__(self, op: Range, most: int) -> None:
        self._op = op
        self._most = most
        self._at = 0
        self.size = op.cardinality

    def pull(self, rows: int) -> Block | None:
        rows = min(rows, self._most, self.size - self._at)
        if rows <= 0:
            return None
        op, first = self._op, self._at
        self._at += rows
        values = np.arange(
            op.start_at + first * op.step, op.start_at + self._at * op.step, op.step, dtype=np.int64
        )
        return _block(values.astype(op.dtype, copy=False))

    def gather(self, index: NDArray[np.int64]) -> Block:
        return _block((index * self._op.step + self._op.start_at).astype(self._op.dtype))

    def state(self) -> Any:
        return {"at": self._at}

    def restore(self, state: Any) -> None:
        self._at = state["at"]


def _block(values: NDArray[Any]) -> Block:
    return Block(LEAF, [DenseColumn(values)], len(values))
