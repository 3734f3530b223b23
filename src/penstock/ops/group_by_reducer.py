"""`ps.group_by_reducer`: the elements of every key reduced to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.build import as_leaf, block_of
from penstock.blocks.columns import size_of
from penstock.blocks.spec import Spec
from penstock.blocks.structure import Structure, structure_of
from penstock.errors import ArgumentTypeError, DataError, ElementError
from penstock.functions.function import user_function
from penstock.graph import checks
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.ops.parts.carry import Carry
from penstock.ops.parts.keys import whole
from penstock.ops.parts.measured import Measured


@dataclass(frozen=True)
class Reducer:
    """How the elements of one key become one: a first state, the next one, and the result.

    `init_func(key)` gives the first state, `reduce_func(state, element)` the next one, and
    `finalize_func(state)` the element that comes out. The parts of a tuple are separate arguments
    of `finalize_func`.

    >>> import penstock as ps
    >>> total = ps.Reducer(lambda key: 0, lambda state, x: state + x, lambda state: state)
    >>> ds = ps.Dataset.range(6).apply(ps.group_by_reducer(lambda x: x % 2, total))
    >>> [int(x) for x in ds]
    [6, 9]
    """

    init_func: Callable[..., Any]
    reduce_func: Callable[..., Any]
    finalize_func: Callable[..., Any]

    def __post_init__(self) -> None:
        for name in ("init_func", "reduce_func", "finalize_func"):
            checks.function(getattr(self, name), f"Reducer({name}=)")
        checks.takes(self.init_func, "Reducer(init_func=)", 1, "the key, as in `lambda key: ...`")
        checks.takes(self.reduce_func, "Reducer(reduce_func=)", 2, checks.STATE_AND_ELEMENT)


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupByReducer(Op):
    """Reduces the elements of every key; the results come in the order of the keys."""

    key_func: Callable[..., Any]
    reducer: Reducer

    name = "group_by_reducer"

    def __post_init__(self) -> None:
        checks.function(self.key_func, "group_by_reducer(key_func=)", self.inputs[0])
        if not isinstance(self.reducer, Reducer):
            raise ArgumentTypeError(self.fail(f"reducer=: expected a ps.Reducer, got {self.reducer!r}."))

    def start(self, context: Context) -> Running:
        return RunningGroupByReducer(self, context)

    def find_spec(self) -> Spec | None:
        return None

    def find_cardinality(self) -> int:
        return UNKNOWN


class RunningGroupByReducer(Running):
    """Keeps a state a key until the input ends, then gives the results."""

    replays = "all of the input is needed for the first result"

    def __init__(self, op: GroupByReducer, context: Context) -> None:
        self._context = context
        self._input = context.input()
        self._upstream = Measured(self._input, context)
        reducer = op.reducer
        self._key, self._init, self._reduce, self._finalize = (
            user_function(function, op, context)
            for function in (
                op.key_func,
                reducer.init_func,
                reducer.reduce_func,
                reducer.finalize_func,
            )
        )
        self._states: dict[int, Carry] = {}
        self._sizes: dict[int, int] = {}
        self._rest: Block | None = None
        self._structure: Structure | None = None
        self._keys: list[int] | None = None
        self._seen = 0

    def pull(self, rows: int) -> Block | None:
        while self._keys is None:
            block, self._rest = self._rest, None
            if block is None:
                # All of the input is needed for the first result.
                block = self._upstream.pull(1 << 30)
            if block is None:
                self._keys = sorted(self._states, reverse=True)
            else:
                self._add(block)
        return self._results(rows)

    def _add(self, block: Block) -> None:
        for row, element in enumerate(block.elements()):
            number, self._seen = self._seen, self._seen + 1
            try:
                self._add_one(element, number)
            except ElementError:
                if row + 1 < block.rows:
                    self._rest = block.slice(row + 1, block.rows)
                raise

    def _add_one(self, element: Any, number: int) -> None:
        key = whole(self._key(element, number), "a key", self._key, number)
        state = self._states.get(key)
        if state is None:
            state = Carry(self._init.call((np.int64(key),), number), self._context.label, self._context.where)
        new = self._reduce.call((state.value, element), number)
        state.value = state.checked(new, number)
        self._states[key] = state
        size = sum(size_of(leaf) for leaf in structure_of(state.value).flatten(state.value))
        more = size - self._sizes.get(key, 0)
        if more > 0:
            # The states of all keys are there until the last of the input is read.
            self._context.account.require(more, "Use fewer keys, or smaller states.")
            self._sizes[key] = size

    def _results(self, rows: int) -> Block | None:
        assert self._keys is not None
        made: list[Any] = []
        while self._keys and len(made) < rows:
            key = self._keys[-1]
            try:
                made.append(self._result(key))
            except ElementError:
                if made:
                    break  # the next pull fails in its place
                self._drop(key)
                raise
            self._drop(key)
        if not made:
            return None
        assert self._structure is not None
        return block_of(self._structure, made)

    def _result(self, key: int) -> Any:
        result = self._finalize(self._states[key].value, key)
        if self._structure is None:
            self._structure = structure_of(result)
        try:
            leaves = [as_leaf(leaf) for leaf in self._structure.flatten(result)]
        except TypeError as error:
            label = self._context.label
            message = (
                f"{self._context.where}: the result for the key {key} is not like the one before: {error}."
            )
            raise DataError(message, op=label, number=key) from None
        return self._structure.unflatten(leaves)

    def _drop(self, key: int) -> None:
        assert self._keys is not None
        self._keys.pop()
        del self._states[key]
        self._context.account.release(self._sizes.pop(key))

    def state(self) -> Any:
        return {"input": self._input.state()}

    def restore(self, state: Any) -> None:
        self._input.restore(state["input"])

    def close(self) -> None:
        self._context.account.release(sum(self._sizes.values()))
        self._states, self._sizes, self._rest = {}, {}, None
