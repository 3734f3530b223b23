"""`reduce`: all elements folded into one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.build import column_of
from penstock.blocks.receive import own
from penstock.blocks.spec import Spec
from penstock.functions.function import user_function
from penstock.graph import checks
from penstock.graph.op import Op
from penstock.graph.running import Context, Running
from penstock.ops.parts.carry import Carry


@dataclass(frozen=True, eq=False, kw_only=True)
class Reduce(Op):
    """One element: the state after `reduce_func(state, element)` for every element."""

    initial_state: Any = field(repr=False)
    reduce_func: Callable[[Any, Any], Any]

    name = "reduce"
    positional = ()

    def __post_init__(self) -> None:
        checks.function(self.reduce_func, "reduce(reduce_func=)")
        checks.takes(self.reduce_func, "reduce(reduce_func=)", 2, checks.STATE_AND_ELEMENT)

    def start(self, context: Context) -> Running:
        return RunningReduce(self, context)

    def find_spec(self) -> Spec | None:
        return None

    def find_cardinality(self) -> int:
        return 1


class RunningReduce(Running):
    """Reads all of its input before it gives its one element."""

    replays = "all of the input is needed for the result"

    def __init__(self, op: Reduce, context: Context) -> None:
        self._context = context
        self._upstream = context.input()
        self._function = user_function(op.reduce_func, op, context)
        self._state = Carry(op.initial_state, context.label, context.where, context.account)
        self._ask = 1
        self._seen = 0
        self._given = False

    def pull(self, rows: int) -> Block | None:  # noqa: ARG002
        if self._given:
            return None
        while (block := self._upstream.pull(self._ask)) is not None:
            most = self._context.rows_for(block.nbytes // block.rows)
            self._ask = max(1, min(2 * self._ask, most))
            for element in block.elements():
                number = self._seen
                self._seen += 1
                new = self._function.call((self._state.value, element), number)
                self._state.keep(self._state.checked(new, number))
                del new
            del block  # its memory is free for the next one
        self._given = True
        leaves = self._state.structure.flatten(self._state.value)
        self._state.drop()  # the engine counts the block
        own(leaves)
        return Block(self._state.structure, [column_of([leaf]) for leaf in leaves], 1)

    def state(self) -> Any:
        return {"input": self._upstream.state()}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])

    def close(self) -> None:
        self._state.drop()
