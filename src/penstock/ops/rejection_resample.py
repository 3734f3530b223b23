"""`rejection_resample`: elements passed over at random until their classes have a given share."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.spec import Spec, TensorSpec
from penstock.blocks.structure import LEAF
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph import checks
from penstock.graph.op import INFINITE, UNKNOWN, Op, fresh_seed
from penstock.graph.running import Context, Running
from penstock.kernels.bits import bits, counters, mix, unit
from penstock.memory.rowlog import RowLog
from penstock.ops.map import Map
from penstock.ops.parts.measured import Measured
from penstock.ops.sample_from_datasets import SampleFromDatasets
from penstock.site import user_site

Shares = NDArray[np.float64]

TOGETHER = 32
"""The classes of so many elements are counted together, before the first of them is judged."""
SMOOTHING = 10
"""Every class counts as seen so often before the first element."""


def resampled(above: Op, class_func: Any, target_dist: Any, initial_dist: Any, seed: int | None) -> Op:
    """The ops that give (class, element), the classes with the shares of `target_dist`.

    As in tf.data, a part of the elements comes from the input as it is, and only the rest is
    filtered: that way the fewest are lost.
    """
    call = "rejection_resample"
    checks.function(class_func, f"{call}(class_func=)", above)
    seed = checks.seed(seed, f"{call}(seed=)")
    target = _shares(target_dist, f"{call}(target_dist=)")
    classed = Map(inputs=(above,), function=WithClass(class_func, len(target)))
    initial = None
    if initial_dist is not None:
        initial = _shares(initial_dist, f"{call}(initial_dist=)")
        if len(initial) != len(target):
            raise ArgumentError(
                f"{call}(initial_dist=) at {user_site()}: expected a share for each of the "
                f"{len(target)} classes of target_dist, got {len(initial)}."
            )
        if np.allclose(initial, target, rtol=1e-12, atol=0):
            return classed
    own_seed = fresh_seed() if seed is None else mix(seed, 1)
    accepted = Accept(
        inputs=(classed,),
        target=target,
        initial=initial,
        own_seed=own_seed,
        explicit=seed is not None,
    )
    if initial is None:
        weights = Unfiltered(inputs=(classed,), target=target)
        return SampleFromDatasets(
            inputs=(classed, accepted, weights),
            varying=True,
            seed=seed,
            stop_on_empty_dataset=True,
        )
    share = float(acceptance(initial, target)[1])
    if share == 0:
        return accepted
    return SampleFromDatasets(
        inputs=(classed, accepted),
        weights=(share, 1 - share),
        seed=seed,
        stop_on_empty_dataset=True,
    )


def _shares(said: Any, call: str) -> Shares:
    try:
        shares = np.array(said, np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{call} at {user_site()}: expected a list of numbers, got {said!r}."
        ) from None
    if shares.ndim != 1 or not np.isfinite(shares).all() or (shares < 0).any() or not shares.sum():
        raise ArgumentError(
            f"{call} at {user_site()}: expected a share of at least 0 for every class, got {said!r}."
        )
    return np.asarray(shares / shares.sum())


def acceptance(initial: Shares, target: Shares) -> tuple[Shares, float]:
    """How likely an element of each class is kept, and how many come unfiltered beside them."""
    ratio = target / (initial + np.finfo(np.float64).tiny)
    low, high = float(ratio.min()), float(ratio.max())
    if high == low:
        return np.ones_like(ratio), 1.0
    return (ratio - low) / (high - low), low


@dataclass(frozen=True)
class WithClass:
    """The function from an element to (class, element)."""

    class_func: Callable[..., Any]
    classes: int

    def __call__(self, *parts: Any) -> tuple[Any, Any]:
        """The class of an element, checked, and the element."""
        found = self.class_func(*parts)
        try:
            number = operator.index(found)
        except TypeError:
            number = -1
        if not 0 <= number < self.classes:
            raise ValueError(f"class_func: expected a class from 0 to {self.classes - 1}, got {found!r}")
        return found, parts[0] if len(parts) == 1 else parts


class Estimate:
    """The shares of the classes, as far as they have been seen."""

    def __init__(self, classes: int) -> None:
        self.counts = np.full(classes, SMOOTHING, np.float64)

    def add(self, classes: NDArray[np.int64]) -> Shares:
        """The shares, with these classes counted too."""
        self.counts += np.bincount(classes, minlength=len(self.counts))
        return np.asarray(self.counts / self.counts.sum())


def _classes(block: Block) -> NDArray[np.int64]:
    return np.fromiter((int(item) for item in block.columns[0].items()), np.int64, block.rows)


@dataclass(frozen=True, eq=False, kw_only=True)
class Accept(Op):
    """Keeps an element (class, ...) with a probability that depends on its class."""

    target: Shares = field(repr=False)
    initial: Shares | None = field(repr=False)
    explicit: bool = field(repr=False)

    name = "rejection_resample"

    def start(self, context: Context) -> Running:
        if self.initial is None:
            return RunningEstimate(self, context)
        return RunningAccept(self, context, self.initial)

    def find_spec(self) -> Spec | None:
        return self.inputs[0].spec

    def find_cardinality(self) -> int:
        return INFINITE if self.inputs[0].cardinality == INFINITE else UNKNOWN


class RunningAccept(Running):
    """Judges the rows of a block at once, by shares that are known."""

    exact = True

    def __init__(self, op: Accept, context: Context, initial: Shares) -> None:
        self._empty = context.empty
        self._upstream = context.input()
        self._verdict = Verdict(op, context)
        self._keep = acceptance(initial, op.target)[0]

    def pull(self, rows: int) -> Block | None:
        while True:
            block = self._upstream.pull(rows)
            if block is None:
                return None
            kept = np.flatnonzero(self._verdict.on(_classes(block), self._keep))
            if len(kept):
                return block.take(kept, self._empty) if len(kept) < block.rows else block

    def state(self) -> Any:
        return {"input": self._upstream.state(), "seen": self._verdict.seen}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._verdict.seen = state["seen"]


class RunningEstimate(Running):
    """Keeps the rows that are counted together, and judges them when all of them are counted."""

    def __init__(self, op: Accept, context: Context) -> None:
        self._op = op
        self._context = context
        self._empty = context.empty
        self._input = context.input()
        self._upstream = Measured(self._input, context)
        self._verdict = Verdict(op, context)
        self._estimate = Estimate(len(op.target))
        self._log = RowLog(context.account, context.scratch, context.empty, context.note)
        self._classes: list[int] = []
        self._kept = np.zeros(0, np.int64)
        """The numbers in the log of the rows that are kept and have not been given."""

    def pull(self, rows: int) -> Block | None:
        while not len(self._kept):
            if not self._classes:
                self._context.track.take(self.state)
            if not self._judge():
                return None
        first = int(self._kept[0])
        block = self._log.read(first, int(self._kept[-1]) - first + 1)
        here = self._kept[self._kept < first + block.rows][:rows]
        self._kept = self._kept[len(here) :]
        self._log.drop_before(int(here[-1]) + 1)
        return block.take(here - first, self._empty)

    def _judge(self) -> bool:
        """Judge the next rows; False at the end."""
        first = self._log.rows - len(self._classes)
        self._log.drop_before(first)
        while len(self._classes) < TOGETHER:
            block = self._upstream.pull(TOGETHER - len(self._classes))
            if block is None:
                break
            self._log.append(block)
            self._classes += _classes(block).tolist()
        classes = np.array(self._classes, np.int64)
        self._classes = []
        if not len(classes):
            return False
        keep = acceptance(self._estimate.add(classes), self._op.target)[0]
        self._kept = first + np.flatnonzero(self._verdict.on(classes, keep))
        return True

    def state(self) -> Any:
        return {
            "input": self._input.state(),
            "seen": self._verdict.seen,
            "counts": self._estimate.counts.tolist(),
        }

    def restore(self, state: Any) -> None:
        self._input.restore(state["input"])
        self._verdict.seen = state["seen"]
        self._estimate.counts[:] = state["counts"]

    def close(self) -> None:
        self._log.close()


class Verdict:
    """Which elements are kept: a pure function of the key and the element's number."""

    def __init__(self, op: Accept, context: Context) -> None:
        self._key = context.key(op.own_seed, explicit=op.explicit, each_epoch=False)
        self.seen = 0

    def on(self, classes: NDArray[np.int64], keep: Shares) -> NDArray[np.bool_]:
        """For the next elements, of these classes, whether each is kept."""
        random = unit(bits(self._key, counters(self.seen, len(classes))))
        self.seen += len(classes)
        return np.asarray(random < keep[classes])


@dataclass(frozen=True, eq=False, kw_only=True)
class Unfiltered(Op):
    """For every draw, the weights of the input as it is and of the filtered one."""

    target: Shares = field(repr=False)

    name = "class_shares"

    def start(self, context: Context) -> Running:
        return RunningUnfiltered(self, context)

    def find_spec(self) -> Spec:
        return Spec(LEAF, [TensorSpec((2,), np.float64)])

    def find_cardinality(self) -> int:
        count = self.inputs[0].cardinality
        return count if count < 0 else -(-count // TOGETHER) * TOGETHER


class RunningUnfiltered(Running):
    """The same weights for as many draws as there are elements that are counted together."""

    def __init__(self, op: Unfiltered, context: Context) -> None:
        self._op = op
        self._context = context
        self._input = context.input()
        self._upstream = Measured(self._input, context)
        self._estimate = Estimate(len(op.target))
        self._classes: list[int] = []
        self._weights: Shares | None = None
        self._left = 0

    def pull(self, rows: int) -> Block | None:
        if not self._classes:
            self._context.track.take(self.state)
        if not self._left:
            self._count()
        if not self._left:
            return None
        rows = min(rows, self._left)
        self._left -= rows
        assert self._weights is not None
        return Block(LEAF, [DenseColumn(np.tile(self._weights, (rows, 1)))], rows)

    def state(self) -> Any:
        weights = None if self._weights is None else self._weights.tolist()
        counts = self._estimate.counts.tolist()
        return {"input": self._input.state(), "counts": counts, "weights": weights, "left": self._left}

    def restore(self, state: Any) -> None:
        self._input.restore(state["input"])
        self._estimate.counts[:] = state["counts"]
        self._weights = None if state["weights"] is None else np.array(state["weights"])
        self._left = state["left"]

    def _count(self) -> None:
        while len(self._classes) < TOGETHER:
            block = self._upstream.pull(TOGETHER - len(self._classes))
            if block is None:
                break
            self._classes += _classes(block).tolist()
        classes, self._classes = self._classes, []
        if classes:
            initial = self._estimate.add(np.array(classes, np.int64))
            share = min(acceptance(initial, self._op.target)[1], 1.0)
            self._weights = np.array([share, 1 - share])
            self._left = TOGETHER
