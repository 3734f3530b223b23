"""`window`: consecutive elements as datasets, which may overlap."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.columns import ObjectColumn
from penstock.blocks.spec import DatasetSpec, Spec
from penstock.blocks.structure import Structure
from penstock.errors import ElementError
from penstock.graph import checks
from penstock.graph.op import INFINITE, UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.graph.track import advanced
from penstock.memory.rowlog import RowLog
from penstock.ops.parts.dropped import let_go
from penstock.ops.parts.kept_rows import Holds, Kept, KeptRows, Wrap
from penstock.ops.parts.measured import Measured
from penstock.ops.parts.trail import Mark, Trail


@dataclass(frozen=True, eq=False, kw_only=True)
class Window(Op):
    """Datasets of `size` elements, `stride` apart; each begins `shift` after the one before."""

    size: int
    shift: int | None = None
    stride: int = 1
    drop_remainder: bool = False
    wrap: Wrap = field(repr=False)

    name = "window"

    def __post_init__(self) -> None:
        checks.count(self.size, "window(size=)", least=1)
        if self.shift is not None:
            checks.count(self.shift, "window(shift=)", least=1)
        checks.count(self.stride, "window(stride=)", least=1)
        checks.flag(self.drop_remainder, "window(drop_remainder=)")

    @property
    def step(self) -> int:
        """How many elements lie between the beginnings of two windows."""
        return self.size if self.shift is None else self.shift

    @property
    def span(self) -> int:
        """How many elements of the input a whole window spans."""
        return (self.size - 1) * self.stride + 1

    def start(self, context: Context) -> Running:
        return RunningWindow(self, context)

    def find_spec(self) -> Spec | None:
        spec = self.inputs[0].spec
        if spec is None:
            return None
        return Spec(spec.structure, [DatasetSpec(leaf) for leaf in spec.leaves])

    def find_cardinality(self) -> int:
        count = self.inputs[0].cardinality
        if count in (INFINITE, UNKNOWN):
            return count
        if self.drop_remainder:
            return max(0, (count - self.span) // self.step + 1)
        return -(-count // self.step)


class RunningWindow(Running):
    """Keeps each row once, however many windows it is in, and as long as one of them is alive."""

    exact = True

    def __init__(self, op: Window, context: Context) -> None:
        self._op = op
        self._context = context
        self._trail = Trail(context.input(), lambda: self._place())
        self._upstream = Measured(self._trail, context)
        self._log = RowLog(context.account, context.scratch, context.empty, context.note)
        self._kept = Kept(self._log, f"{context.label} at {op.site}")
        self._holds = Holds()
        self._structure: Structure | None = None
        self._next = 0
        """The number in the log of the row that the next window begins with."""
        self._ended = False
        self._failed: list[int] = []
        """For every element that failed, the rows in the log before it."""

    def _place(self) -> int:
        """Which element of the input the row is that the next window begins with."""
        self._failed = [rows for rows in self._failed if rows > self._next]
        return self._trail.element - max(self._log.rows - self._next, 0) - len(self._failed)

    def state(self) -> Any:
        place = self._place()
        mark = self._trail.before(place)
        return {
            "input": advanced(mark.state, place - mark.element),
            "elements": self._trail.element - place,
            "gap": max(self._next - self._log.rows, 0),
            "ended": self._ended,
        }

    def restore(self, state: Any) -> None:
        self._trail.go_back(Mark(0, 0, state["input"], None))
        while (left := state["elements"] - self._trail.element) and not self._ended:
            try:
                block = self._pull(left)
            except ElementError as error:
                let_go(error)
            else:
                if block is not None:
                    self._log.append(block)
        self._next, self._ended = state["gap"], state["ended"]

    def pull(self, rows: int) -> Block | None:
        op, made = self._op, 0
        self._forget()
        self._skip()
        first = self._next
        more = (rows - 1) * op.step if op.step <= op.span else 0  # rows between windows are not kept
        self._have(first + op.span, more)
        # Every window that is whole by now is made too, as far as it was asked for.
        while made < rows and self._log.rows >= self._next + op.span:
            self._next += op.step
            made += 1
        if not made and self._ended:
            made = self._tail(rows)
            self._next += made * op.step
        return self._windows(first, made) if made else None

    def _skip(self) -> None:
        """Pass over the rows between two windows: they are in neither, and get no numbers."""
        while self._next > self._log.rows and not self._ended:
            block = self._pull(self._next - self._log.rows)
            if block is not None:
                self._next -= block.rows

    def _have(self, row: int, more: int) -> None:
        """Fill the log up to number `row`, if the input has so many; as many as `more` may come with them."""
        while self._log.rows < row and not self._ended:
            block = self._pull(row + more - self._log.rows)
            if block is not None:
                self._log.append(block)

    def _pull(self, rows: int) -> Block | None:
        try:
            block = self._upstream.pull(rows)
        except ElementError:
            self._failed.append(self._log.rows)
            raise
        if block is None:
            self._ended = True
        else:
            self._structure = block.structure
        return block

    def _tail(self, rows: int) -> int:
        """How many short windows to make of the rows after the last whole one."""
        left = self._log.rows - self._next
        if self._op.drop_remainder or left <= 0:
            return 0
        return min(rows, -(-left // self._op.step))

    def _windows(self, first: int, made: int) -> Block:
        assert self._structure is not None
        columns: list[list[Any]] = [[] for _ in range(self._structure.leaves)]
        for start in range(first, first + made * self._op.step, self._op.step):
            for column, dataset in zip(columns, self._datasets(start), strict=True):
                column.append(dataset)
        return Block(self._structure, [_objects(column) for column in columns], made)

    def _datasets(self, start: int) -> list[Any]:
        op = self._op
        span = min(op.span, self._log.rows - start)
        hold = self._holds.new(self._kept, start)
        assert self._structure is not None
        return [
            op.wrap(
                KeptRows(
                    hold=hold,
                    first=start,
                    count=1 + (span - 1) // op.stride,
                    stride=op.stride,
                    leaf=leaf,
                    known=op.inputs[0].spec,
                    site=op.site,
                ),
                self._context.options,
            )
            for leaf in range(self._structure.leaves)
        ]

    def _forget(self) -> None:
        """Drop the rows that no window needs, neither one to come nor one that is alive."""
        self._holds.worked_off()
        oldest = next((start for _, start in self._holds.alive.values()), self._next)
        self._log.drop_before(min(oldest, self._next))

    def close(self) -> None:
        self._kept.close()


def _objects(items: list[Any]) -> ObjectColumn:
    array = np.empty(len(items), object)
    for i, item in enumerate(items):
        array[i] = item
    return ObjectColumn(array)
