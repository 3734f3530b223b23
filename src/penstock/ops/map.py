"""`map`: a function of every element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.later import has_images
from penstock.blocks.spec import Spec
from penstock.errors import ArgumentError, ElementError
from penstock.functions.executors import EXECUTORS, check_executor
from penstock.functions.function import UserFunction
from penstock.functions.returns import returns_nothing
from penstock.functions.row_function import Learned, RowFunction
from penstock.graph import checks
from penstock.graph.fingerprint import UNSEEN
from penstock.graph.op import Op, Traits
from penstock.graph.running import Context, Divisible, Running, Task
from penstock.kernels import loading
from penstock.ops.parts.located import located
from penstock.ops.parts.stacks import Stacks
from penstock.site import line_of


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
    executor: str = field(default="auto", metadata=UNSEEN)
    """How the function is called: one of `EXECUTORS`."""
    carried: bool = field(default=False, repr=False)
    """Rows carry their element numbers, because a shuffle has been moved in front."""
    earlier: tuple[Step, ...] = field(default=(), repr=False)
    """The maps above that were made one with this one, the first to be called first."""

    name = "map"
    parted = "evenly"
    traits = Traits(one_to_one=True, fuses=True)

    def __post_init__(self) -> None:
        checks.function(self.function, "map(map_func=)", self.inputs[0])
        if returns_nothing(self.function):
            raise ArgumentError(
                self.fail(
                    f"expected a function that returns the new element, but {self.function.__name__} "
                    f"({line_of(self.function)}) returns nothing, ever. Is its `return` missing?"
                )
            )
        if self.num_parallel_calls is not None:
            checks.count(
                self.num_parallel_calls, "map(num_parallel_calls=)", least=1, also={-1: "ps.AUTOTUNE"}
            )
        if self.deterministic is not None:
            checks.flag(self.deterministic, "map(deterministic=)")
        check_executor(self.executor, "map(executor=)")

    def start(self, context: Context) -> Running:
        return RunningMap(self, context)

    def find_spec(self) -> Spec | None:
        return self._trial.spec

    def find_cardinality(self) -> int:
        return self.inputs[0].cardinality

    @property
    def seam(self) -> str:
        if self.executor == "processes":
            return "parallel"
        if self.num_parallel_calls is None:
            return "parallel" if self.executor == "threads" else ""
        return "" if self.num_parallel_calls == 1 else "parallel"

    @property
    def hoistable(self) -> bool:
        # Rows carry one set of numbers: a second shuffle would need another.
        return not self.carried and self._trial.spec is not None and not self._trial.may_raise

    def ways(self) -> str:
        if self.executor in ("threads", "processes", "jit"):
            return f"called {EXECUTORS[self.executor]}, as asked for"
        way = self._trial.way
        if self.executor != "auto" or not self.seam:
            return way
        called = next((known.called for known in self.learned.values() if known.called), None)
        if called is not None:
            return f"{way}; in {called[0]}, as measured in an earlier run: {called[1]}"
        measured = "; in threads or worker processes, as measured while it runs"
        return f"{way}{measured}" if "row by row" in way else way

    @cached_property
    def _trial(self) -> _Trial:
        """What a call with a made-up element tells, where the function has no side effects."""
        steps: list[Step | Map] = [*self.earlier, self]
        rows = RowFunction([UserFunction(step.function, step, self.name, key=0) for step in steps])
        above = self.inputs[0].spec
        found = None if above is None or self.executor == "jit" else rows.find_spec(above)
        if found is None:
            return _Trial(None, may_raise=True, way=rows.way)
        return _Trial(found[0], may_raise=found[1], way=rows.way)

    @cached_property
    def learned(self) -> dict[tuple[int, ...], Learned]:
        """What runs have found out, by the functions that are one here; the next run goes on from it."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "learned"}

    def with_carried_numbers(self) -> Map:
        return _knowing(self.changed(carried=True), self)

    def fused_with(self, below: Op, index: int, below_index: int) -> Op:
        if not isinstance(below, Map):
            return super().fused_with(below, index, below_index)
        step = Step(self.function, self.own_seed, self.site, index)
        calls = below.num_parallel_calls or self.num_parallel_calls
        earlier = (*self.earlier, step, *below.earlier)
        executor = below.executor if below.executor != "auto" else self.executor
        fused = below.changed(
            inputs=self.inputs, earlier=earlier, num_parallel_calls=calls, executor=executor
        )
        return _knowing(fused, below)

    @property
    def shape(self) -> str:
        return f"{self.name} {len(self.earlier)}{' carried' if self.carried else ''}"

    def describe(self) -> str:
        own = super().describe()
        return own if not self.earlier else f"{own} of {len(self.earlier)} more"


@dataclass(frozen=True)
class _Trial:
    """What is known of a map before it runs."""

    spec: Spec | None
    may_raise: bool
    way: str


def _knowing(op: Map, declared: Map) -> Map:
    """The op, with what is known of it already: plans are made often, and trials cost calls."""
    op.__dict__["_trial"] = declared._trial
    op.__dict__["learned"] = declared.learned
    return op


class _Call(Task):
    """The function's calls with the rows of a block."""

    def __init__(
        self,
        op: Map,
        function: RowFunction,
        stacks: Stacks,
        block: Block,
        numbers: NDArray[np.int64],
        place: int,
        room: int,
    ) -> None:
        self._op = op
        self._function = function
        self._stacks = stacks
        self._block: Block | None = block
        self._numbers = numbers
        self._place = place
        self._room = room
        self.rows, self.nbytes = block.rows, block.nbytes

    def do(self, rows: int) -> tuple[list[Block | ElementError], Task | None]:
        block, self._block = self._block, None
        assert block is not None, "a task is done once"
        part = block.slice(0, min(rows, block.rows))
        outcome = self._function.apply(part, self._numbers[: part.rows], self._room, self._place)
        if outcome.block is not None:
            outcome.block.origin = part.origin
            self._stacks.look(outcome.block)
        if outcome.error is not None:
            self._stacks.shift()
            located(outcome.error, part, outcome.used - 1, self._op)
        rest = None
        if outcome.used < block.rows:
            left, numbers = block.slice(outcome.used, block.rows), self._numbers[outcome.used :]
            place = self._place + outcome.used
            rest = _Call(self._op, self._function, self._stacks, left, numbers, place, self._room)
        return [made for made in (outcome.block, outcome.error) if made is not None], rest


class RunningMap(Divisible):
    """Numbers the rows and hands blocks to the function."""

    def __init__(self, op: Map, context: Context) -> None:
        self._op = op
        self._context = context
        loading.held_to(context.ledger.budget)
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
        called = tuple(id(function.function) for function in functions)
        learned = op.learned.setdefault(called, Learned())
        self._rows = RowFunction(functions, context.empty, op.executor, context.both, learned)
        self._stacks = Stacks(context.stacks, context)
        self._rows.empty_at = self._stacks.empty_at
        self._rest: Task | None = None
        self._error: ElementError | None = None
        self._seen = 0

    def pull(self, rows: int) -> Block | None:
        while True:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            task, self._rest = self._rest, None
            if task is None:
                self._context.track.take(self.state)
                task = self.divide(rows)
            if task is None:
                return None
            done, self._rest = task.do(rows)
            for made in reversed(done):  # an error comes after the rows before it
                if isinstance(made, Block):
                    return made
                self._error = made

    def divide(self, rows: int) -> Task | None:
        room = self._context.block_bytes * self._rows.larger()
        most = self._rows.most(room)
        if most is not None:
            rows = self._stacks.rows_at(self._seen, min(rows, most))
        block = self._upstream.pull(rows)
        if block is None:
            return None
        if not self._rows.why:
            work = block.nbytes if has_images(block) else self._rows.missed
            loading.want(work, self._context.ledger.budget)
        place = self._seen
        self._seen += block.rows
        numbers = block.numbers if self._carried else None
        if numbers is None:
            numbers = np.arange(place, self._seen)
        return _Call(self._op, self._rows, self._stacks, block, numbers, place, room)

    @property
    def side_by_side(self) -> bool:
        if self._rows.executor == "processes":
            return self._rows.plain.structure is not None  # all workers are told what results look like
        return bool(self._rows.why) or self._rows.most(self._context.block_bytes) is not None

    @property
    def fills_cores(self) -> bool:
        return self._rows.fills_cores

    @property
    def function(self) -> RowFunction:
        return self._rows

    def state(self) -> Any:
        state = {"input": self._upstream.state(), "seen": self._seen}
        return {**state, "shifted": True} if self._stacks.shifted else state

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._seen = state["seen"]
        if state.get("shifted"):
            self._stacks.shift()

    def close(self) -> None:
        self._rest = None
        self._error = None
        self._stacks.close()
