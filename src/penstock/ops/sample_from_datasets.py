"""`Dataset.sample_from_datasets`: rows of several datasets, drawn at random."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.spec import Spec
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph import checks
from penstock.graph.op import INFINITE, UNKNOWN, Op
from penstock.graph.running import Context, Input, Running
from penstock.kernels.bits import bits, counters, unit
from penstock.ops.parts.directed import Choices, Choosing, RunningDirected, common_spec

AT_ONCE = 1024
"""How many choices are drawn in one go: they cost nothing beside the rows."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SampleFromDatasets(Op):
    """The next element comes from an input drawn at random.

    With `varying`, the last input gives the weights, one element a draw.
    """

    weights: tuple[float, ...] | None = None
    varying: bool = field(default=False, repr=False)
    seed: int | None = None
    stop_on_empty_dataset: bool = False
    rerandomize_each_iteration: bool | None = None

    name = "sample_from_datasets"
    positional = ()

    def __post_init__(self) -> None:
        checks.seed(self.seed, f"{self.name}(seed=)")
        checks.flag(self.stop_on_empty_dataset, f"{self.name}(stop_on_empty_dataset=)")
        if self.rerandomize_each_iteration is not None:
            checks.flag(self.rerandomize_each_iteration, f"{self.name}(rerandomize_each_iteration=)")
        if not self.count:
            raise ArgumentError(self.fail("expected at least one dataset, got none."))
        if self.weights is not None:
            self._check_weights(self.weights)
        common_spec(self, [above.spec for above in self.inputs[: self.count]])

    def _check_weights(self, weights: tuple[float, ...]) -> None:
        try:
            array = np.array(weights, np.float64)
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                self.fail(f"weights=: expected a list of numbers or a dataset, got {weights!r}.")
            ) from None
        if array.shape != (self.count,):
            raise ArgumentError(
                self.fail(
                    f"weights=: expected one weight for each of the {self.count} datasets, got "
                    f"{len(weights)}."
                )
            )
        if not np.isfinite(array).all() or (array < 0).any():
            raise ArgumentError(self.fail(f"weights=: expected numbers of at least 0, got {list(weights)}."))

    @property
    def count(self) -> int:
        """How many datasets are drawn from."""
        return len(self.inputs) - self.varying

    @property
    def drawn(self) -> list[int]:
        """The numbers of the inputs that can be drawn: those of weight 0 never are."""
        if self.weights is None:
            return list(range(self.count))
        return [which for which, weight in enumerate(self.weights) if weight > 0]

    def start(self, context: Context) -> Running:
        draw = Draw(self, context)
        return RunningDirected(self, context, self.drawn, draw, stop=self.stop_on_empty_dataset)

    def find_spec(self) -> Spec | None:
        return common_spec(self, [above.spec for above in self.inputs[: self.count]])

    def find_cardinality(self) -> int:
        counts = [self.inputs[which].cardinality for which in self.drawn]
        if not counts:
            return 0
        if self.varying and self.inputs[-1].cardinality != INFINITE:
            return UNKNOWN
        if len(counts) == 1 and not self.varying:
            return counts[0]
        endless = [count == INFINITE for count in counts]
        certain = all(endless) if self.stop_on_empty_dataset or self.varying else any(endless)
        return INFINITE if certain else UNKNOWN


class Draw(Choosing):
    """The choices: a pure function of the key and the number of the draw."""

    def __init__(self, op: SampleFromDatasets, context: Context) -> None:
        self._op = op
        self._key = context.key(
            op.own_seed if op.seed is None else op.seed,
            explicit=op.seed is not None,
            each_epoch=bool(op.rerandomize_each_iteration),
        )
        self._weights: Input | None = context.input(op.count) if op.varying else None
        weights = np.ones(op.count) if op.weights is None else np.array(op.weights, np.float64)
        self._bounds = _bounds(weights[op.drawn][None])
        self._seen = 0

    def next(self, rows: int) -> Choices | None:
        """The next choices, or None when the weights have ended."""
        if self._weights is None:
            random = self._random(AT_ONCE)
            return np.searchsorted(self._bounds[0], random, side="right").astype(np.int64)
        block = self._weights.pull(rows)
        if block is None:
            return None
        weights = [self._checked(item, self._seen + i) for i, item in enumerate(block.elements())]
        bounds = _bounds(np.array(weights))
        random = self._random(block.rows)
        return np.asarray((bounds <= random[:, None]).sum(axis=1), np.int64)

    def state(self) -> Any:
        return {"weights": None if self._weights is None else self._weights.state(), "seen": self._seen}

    def restore(self, state: Any) -> None:
        self._seen = state["seen"]
        if self._weights is not None:
            self._weights.restore(state["weights"])

    def _random(self, count: int) -> NDArray[np.float64]:
        first, self._seen = self._seen, self._seen + count
        return unit(bits(self._key, counters(first, count)))

    def _checked(self, weights: object, number: int) -> NDArray[np.float64]:
        array = np.asarray(weights, np.float64)
        if array.shape != (self._op.count,) or not (array >= 0).all() or not array.sum() > 0:
            raise ArgumentError(
                self._op.fail(
                    f"weights=: expected {self._op.count} numbers of at least 0, not all of them "
                    f"0, got {weights!r} in element {number}."
                )
            )
        return array


def _bounds(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where each choice but the last ends on the way from 0 to 1, for every row of weights."""
    sums = np.cumsum(weights, axis=1)
    return np.asarray(sums[:, :-1] / sums[:, -1:])
