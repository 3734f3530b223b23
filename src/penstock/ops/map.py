"""`map`: a function of every element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ElementError
from penstock.graph import checks
from penstock.graph.op import Op, Traits, fresh_seed
from penstock.graph.running import Context, Running
from penstock.ops.function import UserFunction
from penstock.ops.rowwise import PlainRows


@dataclass(frozen=True, eq=False, kw_only=True)
class Map(Op):
    """Applies a function to every element."""

    function: Callable[..., Any]
    num_parallel_calls: int | None = None
    deterministic: bool | None = None
    seed: int = field(default_factory=fresh_seed, repr=False)
    carried: bool = field(default=False, repr=False)
    """Rows carry their element numbers, because a shuffle has been moved in front."""

    name = "map"
    traits = Traits(one_to_one=True, fuses=True)

    def __post_init__(self) -> None:
        checks.function(self.function, "map(map_func=)")
        if self.num_parallel_calls is not None:
            checks.count(self.num_parallel_calls, "map(num_parallel_calls=)", least=1, also=(-1,))

    def start(self, context: Context) -> Running:
        return RunningMap(self, context)

    def find_spec(self) -> Spec | None:
        return None

    def find_cardinality(self) -> int:
        return self.inputs[0].cardinality

    def with_carried_numbers(self) -> Map:
        return replace(self, carried=True)


class RunningMap(Running):
    """Numbers the rows and hands blocks to the function."""

    def __init__(self, op: Map, context: Context) -> None:
        self._context = context
        self._carried = op.carried
        self._upstream = context.input()
        self._rows = PlainRows([UserFunction(op.function, op, context.label)])
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
        if self._carried and part.numbers is not None:
            numbers = part.numbers
        else:
            numbers = np.arange(self._seen, self._seen + rows)
        outcome = self._rows.apply(part, numbers, self._context.block_bytes)
        self._seen += outcome.used
        self._error = outcome.error
        if outcome.used < block.rows:
            self._rest = block.slice(outcome.used, block.rows)
        return outcome.block

    def close(self) -> None:
        self._rest = None
