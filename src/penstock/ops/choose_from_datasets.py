"""`Dataset.choose_from_datasets`: rows of several datasets in the order that another one says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ArgumentError, ArgumentTypeError, DataError
from penstock.graph import checks
from penstock.graph.op import INFINITE, UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.ops.parts.directed import Choices, Choosing, RunningDirected, common_spec


@dataclass(frozen=True, eq=False, kw_only=True)
class ChooseFromDatasets(Op):
    """The next element comes from the input that the last input, the choices, names."""

    stop_on_empty_dataset: bool = True

    name = "choose_from_datasets"
    positional = ()

    def __post_init__(self) -> None:
        checks.flag(self.stop_on_empty_dataset, f"{self.name}(stop_on_empty_dataset=)")
        if len(self.inputs) < 2:
            raise ArgumentError(self.fail("expected at least one dataset, got none."))
        choices = self.inputs[-1].spec
        if choices is not None and not _is_number(choices):
            raise ArgumentTypeError(
                self.fail(
                    f"choice_dataset=: expected elements that are whole numbers, got {choices.nest()!r}."
                )
            )
        common_spec(self, [above.spec for above in self.inputs[:-1]])

    def start(self, context: Context) -> Running:
        count = len(self.inputs) - 1
        choices = ChoiceReader(self, context, count)
        return RunningDirected(self, context, range(count), choices, stop=self.stop_on_empty_dataset)

    def find_spec(self) -> Spec | None:
        return common_spec(self, [above.spec for above in self.inputs[:-1]])

    def find_cardinality(self) -> int:
        endless = all(above.cardinality == INFINITE for above in self.inputs[:-1])
        return self.inputs[-1].cardinality if endless else UNKNOWN


class ChoiceReader(Choosing):
    """The choices of a dataset, checked; a wrong one is an error in its place."""

    def __init__(self, op: Op, context: Context, count: int) -> None:
        self._op = op
        self._label = context.label
        self._count = count
        self._upstream = context.input(count)
        self._rest: Choices = np.zeros(0, np.int64)
        self._seen = 0

    def next(self, rows: int) -> Choices | None:
        """Up to `rows` choices, or None at the end."""
        if not len(self._rest):
            block = self._upstream.pull(rows)
            if block is None:
                return None
            self._rest = self._numbers(block)
        wrong = (self._rest < 0) | (self._rest >= self._count)
        good = int(wrong.argmax()) if wrong.any() else len(self._rest)
        if good == 0:
            choice, self._rest = int(self._rest[0]), self._rest[1:]
            number, self._seen = self._seen, self._seen + 1
            raise DataError(
                self._op.fail(
                    f"choice_dataset=: expected numbers from 0 to {self._count - 1}, one for each "
                    f"dataset, got {choice} in element {number}."
                ),
                op=self._label,
                number=number,
            )
        chosen, self._rest = self._rest[:good], self._rest[good:]
        self._seen += good
        return chosen

    @property
    def rests(self) -> bool:
        return not len(self._rest)

    def state(self) -> Any:
        return {"input": self._upstream.state(), "seen": self._seen}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._seen = state["seen"]

    def _numbers(self, block: Block) -> Choices:
        spec = block.spec()
        if not _is_number(spec):
            raise ArgumentTypeError(
                self._op.fail(
                    f"choice_dataset=: expected elements that are whole numbers, got {spec.nest()!r}."
                )
            )
        return np.fromiter((int(item) for item in block.columns[0].items()), np.int64, block.rows)


def _is_number(spec: Spec) -> bool:
    leaf = spec.leaves[0] if spec.structure.is_leaf else None
    return leaf is not None and leaf.shape in ((), None) and leaf.dtype.kind in "iuO"
