"""`Dataset.random`: random whole numbers without end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.spec import Spec, TensorSpec
from penstock.blocks.structure import LEAF
from penstock.graph import checks
from penstock.graph.op import INFINITE, Op
from penstock.graph.running import Context, Running
from penstock.kernels.bits import bits, counters


@dataclass(frozen=True, eq=False, kw_only=True)
class Random(Op):
    """Whole numbers from 0 up to 2**32; the same in every epoch, unless asked otherwise."""

    seed: int | None = None
    rerandomize_each_iteration: bool | None = None

    name = "random"

    def __post_init__(self) -> None:
        checks.seed(self.seed, "random(seed=)")
        if self.rerandomize_each_iteration is not None:
            checks.flag(self.rerandomize_each_iteration, "random(rerandomize_each_iteration=)")

    def start(self, context: Context) -> Running:
        return RunningRandom(self, context)

    def find_spec(self) -> Spec:
        return Spec(LEAF, [TensorSpec((), np.int64)])

    def find_cardinality(self) -> int:
        return INFINITE


class RunningRandom(Running):
    """Each number is a function of the key and of its place."""

    exact = True

    def __init__(self, op: Random, context: Context) -> None:
        explicit = op.seed is not None
        self._key = context.key(
            op.own_seed if op.seed is None else op.seed,
            explicit=explicit,
            each_epoch=bool(op.rerandomize_each_iteration),
        )
        self._at = 0

    def pull(self, rows: int) -> Block | None:
        drawn = bits(self._key, counters(self._at, rows)) >> np.uint64(32)
        self._at += rows
        return Block(LEAF, [DenseColumn(drawn.astype(np.int64))], rows)

    def state(self) -> Any:
        return {"at": self._at}

    def restore(self, state: Any) -> None:
        self._at = state["at"]
