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
from penstock.graph.track import State, advanced
from penstock.ops.parts.assembly import joined
from penstock.ops.parts.measured import Measured


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
        self._measured = Measured(self._upstream, context)
        self._function = DatasetFunction(op.function, op, context, "map_func")
        self._current: Input | None = None
        self._error: ElementError | None = None
        self._seen = 0
        self._block: Block | None = None
        """Elements of the input, some of which have not been opened."""
        self._before: State = {}
        """Where the input stood before these."""
        self._used = 0
        """How many have been opened since."""
        self._given = self._most_given = 0  # rows of the dataset at hand, and the most of one before it

    def state(self) -> Any:
        if self._current is not None:
            before = advanced(self._before, self._used - 1)
            return {"input": before, "seen": self._seen - 1, "current": self._current.state()}
        here = self._upstream.state() if self._block is None else advanced(self._before, self._used)
        return {"input": here, "seen": self._seen, "current": None}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._seen = state["seen"]
        if state["current"] is not None:
            element = self._element(1)
            assert element is not None
            self._current = self._function.open(*element)
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
                element = self._element(rows)
                if element is None:
                    return None
                opened = self._function.read_or_open(*element, rows)
                if isinstance(opened, Block):
                    self._most_given = max(self._most_given, opened.rows)
                    return self._function.checked(opened)
                self._current = opened
            block = self._current.pull(rows)
            if block is not None:
                self._given += block.rows
                return self._function.checked(block)
            self._most_given = max(self._most_given, self._given)
            self._current.close()
            self._current = None

    def _element(self, rows: int) -> tuple[Any, int] | None:
        """The next element, whose dataset is to be opened, and its number. So many rows are wanted."""
        if self._block is None:
            self._before = self._upstream.state()
            # No fewer give so many rows, if none gives more of them than those so far.
            self._block = self._measured.pull(-(-rows // self._most_given) if self._most_given else 1)
            self._used = 0
        if self._block is None:
            return None
        element = self._block.element(self._used)
        number, self._seen = self._seen, self._seen + 1
        self._given = 0
        self._used += 1
        if self._used == self._block.rows:
            self._block = None
        return element, number

    def close(self) -> None:
        self._block = self._current = None
