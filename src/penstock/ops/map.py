"""`map`: a function of every element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ElementError
from penstock.functions.function import UserFunction
from penstock.functions.row_function import RowFunction
from penstock.graph import checks
from penstock.graph.op import Op, Traits
from penstock.graph.running import Context, Running


@dataclass(frozen=True)
class Step:
    """A map that was made one with the map below it: what it was declared with."""

    function: Callable[..., Any]
    own_seed: int
    site: str
    index: int
    """Its number in the declared pipeline."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Map(Op):
    """Applies a function to every element."""

    function: Callable[..., Any]
    num_parallel_calls: int | None = None
    deterministic: bool | None = None
    carried: bool = field(default=False, repr=False)
    """Rows carry their element numbers, because a shuffle has been moved in front."""
    earlier: tuple[Step, ...] = field(default=(), repr=False)
    """The maps above that were made one with this one, the first to be called first."""

    name = "map"
    traits = Traits(one_to_one=True, fuses=True)

    def __post_init__(self) -> None:
        checks.function(self.function, "map(map_func=)")
        if self.num_parallel_calls is not None:
            checks.count(
                self.num_parallel_calls, "map(num_parallel_calls=)", least=1, also={-1: "ps.AUTOTUNE"}
            )
        if self.deterministic is not None:
            checks.flag(self.deterministic, "map(deterministic=)")

    def start(self, context: Context) -> Running:
        return RunningMap(self, context)

    def find_spec(self) -> Spec | None:
        return self._trial.spec

    def find_cardinality(self) -> int:
        return self.inputs[0].cardinality

    @property
    def hoistable(self) -> bool:
        # Rows carry one set of numbers: a second shuffle would need another.
        return not self.carried and self._trial.spec is not None and not self._trial.may_raise

    def ways(self) -> str:
        return self._trial.way

    @cached_property
    def _trial(self) -> _Trial:
        """What a call with a made-up element tells, where the function has no side effects."""
        steps: list[Step | Map] = [*self.earlier, self]
        rows = RowFunction([UserFunction(step.function, step, self.name, key=0) for step in steps])
        above = self.inputs[0].spec
        found = None if above is None else rows.find_spec(above)
        if found is None:
            return _Trial(None, may_raise=True, way=rows.way)
        return _Trial(found[0], may_raise=found[1], way=rows.way)

    def with_carried_numbers(self) -> Map:
        return _knowing(replace(self, carried=True), self._trial)

    def fused_with(self, below: Op, index: int, below_index: int) -> Op:
        if not isinstance(below, Map):
            return super().fused_with(below, index, below_index)
        step = Step(self.function, self.own_seed, self.site, index)
        fused = replace(below, inputs=self.inputs, earlier=(*self.earlier, step, *below.earlier))
        return _knowing(fused, below._trial)

    def describe(self) -> str:
        own = super().describe()
        return own if not self.earlier else f"{own} of {len(self.earlier)} more"


@dataclass(frozen=True)
class _Trial:
    """What is known of a map before it runs."""

    spec: Spec | None
    may_raise: bool
    way: str


def _knowing(op: Map, trial: _Trial) -> Map:
    """The op, with what is known of it already: plans are made often, and trials cost calls."""
    op.__dict__["_trial"] = trial
    return op


class RunningMap(Running):
    """Numbers the rows and hands blocks to the function."""

    def __init__(self, op: Map, context: Context) -> None:
        self._context = context
        self._carried = op.carried
        self._upstream = context.input()
        functions = [
            UserFunction(
                step.function,
                step,
                context.label_of(step.index),
                context.key(step.own_seed, explicit=False, index=step.index),
            )
            for step in op.earlier
        ]
        key = context.key(op.own_seed, explicit=False)
        functions.append(UserFunction(op.function, op, context.label, key))
        self._rows = RowFunction(functions, context.empty)
        self._rest: Block | None = None
        self._error: ElementError | None = None
        self._seen = 0

    def pull(self, rows: int) -> Block | None:
        while True:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            block, self._rest = self._rest, None
            if block is None:
                block = self._upstream.pull(rows)
            if block is None:
                return None
            done = self._apply(block, min(rows, block.rows))
            if done is not None:
                return done

    def _apply(self, block: Block, rows: int) -> Block | None:
        part = block.slice(0, rows)
        outcome = self._rows.apply(part, self._numbers(part), self._context.block_bytes)
        self._seen += outcome.used
        self._error = outcome.error
        if outcome.used < block.rows:
            self._rest = block.slice(outcome.used, block.rows)
        return outcome.block

    def _numbers(self, block: Block) -> NDArray[np.int64]:
        if self._carried and block.numbers is not None:
            return block.numbers
        return np.arange(self._seen, self._seen + block.rows)

    def close(self) -> None:
        self._rest = None
        self._error = None
