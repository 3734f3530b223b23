"""`scan`: a function of every element and of a state that it carries along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import DataError, ElementError
from penstock.functions.function import user_function
from penstock.graph import checks
from penstock.graph.op import Op, Traits
from penstock.graph.running import Context, Running
from penstock.ops.parts.carry import Carry
from penstock.ops.parts.collect import Collector


@dataclass(frozen=True, eq=False, kw_only=True)
class Scan(Op):
    """`scan_func(state, element)` gives the next state and what comes out."""

    initial_state: Any = field(repr=False)
    scan_func: Callable[[Any, Any], Any]

    name = "scan"
    positional = ()
    traits = Traits(one_to_one=True)

    def __post_init__(self) -> None:
        checks.function(self.scan_func, "scan(scan_func=)")
        checks.takes(self.scan_func, "scan(scan_func=)", 2, checks.STATE_AND_ELEMENT)

    def start(self, context: Context) -> Running:
        return RunningScan(self, context)

    def find_spec(self) -> Spec | None:
        return None

    def find_cardinality(self) -> int:
        return self.inputs[0].cardinality


class RunningScan(Running):
    """Calls row by row, since each call needs the state that the one before it left."""

    def __init__(self, op: Scan, context: Context) -> None:
        self._label, self._where = context.label, context.where
        self._context = context
        self._upstream = context.input()
        self._function = user_function(op.scan_func, op, context)
        self._state = Carry(op.initial_state, context.label, context.where, context.account)
        self._made = Collector(context.label, context.block_bytes, where=context.where)
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
                if self._state.saved is not None:
                    self._context.track.take(self.state)
                block = self._upstream.pull(rows)
            if block is None:
                return None
            used = self._work_through(block.slice(0, min(rows, block.rows)))
            if used < block.rows:
                self._rest = block.slice(used, block.rows)
            made = self._made.block()
            if made is not None:
                return made

    def _work_through(self, block: Block) -> int:
        """Call on each row until a call fails or a block is full; how many rows are done with."""
        for used, element in enumerate(block.elements(), 1):
            number = self._seen
            self._seen += 1
            try:
                state, output = self._call(element, number)
                state = self._state.checked(state, number)
                leaves = self._made.leaves_of(output, number)
            except ElementError as error:
                self._error = error.with_traceback(None)  # its frames hold blocks
                return used
            self._state.keep(state)
            del state, output  # a reference more, and the output's arrays would be copied
            self._made.add(leaves)
            del leaves
            if self._made.full:
                return used
        return block.rows

    def _call(self, element: Any, number: int) -> tuple[Any, Any]:
        result = self._function.call((self._state.value, element), number)
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise DataError(
                f"{self._where}: expected the function to return a pair of the new state and the "
                f"output, got {result!r} for element {number}.",
                op=self._label,
                number=number,
            )
        return result[0], result[1]

    def state(self) -> Any:
        return {"input": self._upstream.state(), "seen": self._seen, "carried": self._state.saved}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._seen = state["seen"]
        if state["carried"] is not None:  # else it is the initial one
            self._state.load(state["carried"])

    def close(self) -> None:
        self._rest = self._error = None
        self._state.drop()
