"""`flat_map`: a dataset for every element, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.spec import Spec
from penstock.errors import ElementError
from penstock.functions.nested import DatasetFunction
from penstock.graph import checks
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Input, Running
from penstock.graph.track import State
from penstock.ops.parts.assembly import joined


@dataclass(frozen=True, eq=False, kw_only=True)
class FlatMap(Op):
    """The elements of the datasets that a function returns, one dataset after the other."""

    function: Callable[..., Any]

    name = "flat_map"
    parted = "each"
    opens = True

    def __post_init__(self) -> None:
        checks.function(self.function, "flat_map(map_func=)", self.inputs[0])

    def start(self, context: Context) -> Running:
        return RunningFlatMap(self, context)

    def find_spec(self) -> Spec | None:
        return None

    def find_cardinality(self) -> int:
        return UNKNOWN


class RunningFlatMap(Running):
    """Reads the dataset at hand to its end, then opens the next one."""

    def __init__(self, op: FlatMap, context: Context) -> None:
        self._context = context
        self._upstream = context.input()
        self._function = DatasetFunction(op.function, op, context, "map_func")
        self._current: Input | None = None
        self._error: ElementError | None = None
        self._seen = 0
        self._before: State = {}
        """Where the input stood before the element of the dataset at hand."""

    def state(self) -> Any:
        if self._current is None:
            return {"input": self._upstream.state(), "seen": self._seen, "current": None}
        return {"input": self._before, "seen": self._seen - 1, "current": self._current.state()}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._seen = state["seen"]
        if state["current"] is not None:
            self._before = state["input"]
            self._open()
            assert self._current is not None
            self._current.restore(state["current"])

    def pull(self, rows: int) -> Block | None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        self._context.track.take(self.state)
        # Many small datasets make one block; what is large already is handed over as it is.
        parts: list[Block] = []
        have = size = 0
        while 2 * have < rows and 2 * size < self._context.block_bytes:
            try:
                block = self._next(rows - have)
            except ElementError as error:
                if not parts:
                    raise
                self._error = error
                break
            if block is None:
                break
            parts.append(block)
            have += block.rows
            size += max(block.nbytes, self._context.ledger.behind(block))
        return joined(parts, self._context.empty) if parts else None

    def _next(self, rows: int) -> Block | None:
        while True:
            if self._current is None:
                self._before = self._upstream.state()
                if not self._open():
                    return None
            assert self._current is not None
            block = self._current.pull(rows)
            if block is not None:
                return self._function.checked(block)
            self._current.close()
            self._current = None

    def _open(self) -> bool:
        """Open the dataset of the next element; False if there is none."""
        # One element at a time: who knows how many rows it gives?
        block = self._upstream.pull(1)
        if block is None:
            return False
        number, self._seen = self._seen, self._seen + 1
        self._current = self._function.open(block.element(0), number)
        return True

    def close(self) -> None:
        self._current = None
