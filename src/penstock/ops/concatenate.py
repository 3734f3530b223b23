"""`concatenate`: one dataset after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.blocks.block import Block
from penstock.blocks.spec import BYTES, OBJECT, TEXT, Spec, TensorSpec, common_of, dtype_name
from penstock.blocks.structure import Structure
from penstock.errors import ArgumentTypeError
from penstock.graph.op import INFINITE, UNKNOWN, Op
from penstock.graph.running import Context, Input, Running
from penstock.ops.parts.known import known_spec, said_spec


@dataclass(frozen=True, eq=False, kw_only=True)
class Concatenate(Op):
    """All elements of the first input, then all of the next."""

    name = "concatenate"

    def __post_init__(self) -> None:
        first, second = (above.spec for above in self.inputs)
        if first is not None and second is not None:
            self.order(first, second)

    def start(self, context: Context) -> Running:
        return RunningConcatenate(self, context)

    def find_spec(self) -> Spec | None:
        first, second = (above.spec for above in self.inputs)
        if first is None or second is None:
            return None
        pairs = zip(first.leaves, self.order(first, second), strict=True)
        return Spec(first.structure, [common_of([mine, second.leaves[place]]) for mine, place in pairs])

    def find_cardinality(self) -> int:
        counts = [above.cardinality for above in self.inputs]
        if INFINITE in counts:
            return INFINITE
        return UNKNOWN if UNKNOWN in counts else sum(counts)

    def order(self, first: Spec, second: Spec) -> list[int]:
        """Where the second's leaves are, in the order of the first's; raises if they differ."""
        order = leaf_order(first.structure, second.structure)
        if order is None:
            raise ArgumentTypeError(
                self.fail(
                    f"expected elements of the structure {first.structure}, as in the first "
                    f"dataset, got {second.structure} in the second. Make them alike with a map."
                )
            )
        for path, mine, place in zip(first.structure.paths(), first.leaves, order, strict=True):
            its = second.leaves[place]
            if mine.dtype != its.dtype and not _no_strings(mine, its) and not _no_strings(its, mine):
                raise ArgumentTypeError(
                    self.fail(
                        f"expected {dtype_name(mine.dtype)} at element{path}, as in the first "
                        f"dataset, got {dtype_name(its.dtype)} in the second. "
                        f"Convert one with a map."
                    )
                )
        return order


def _no_strings(mine: TensorSpec, its: TensorSpec) -> bool:
    """Whether one is of arrays of no strings: they go with strings of either kind."""
    return mine.dtype == OBJECT and its.dtype in (BYTES, TEXT) and 0 in (mine.shape or ())


def leaf_order(first: Structure, second: Structure) -> list[int] | None:
    """Where each leaf of `first` is in `second`, whose dicts may have another order of keys."""
    if not _alike(first, second):
        return None
    return first.flatten(second.unflatten(range(second.leaves)))


def _alike(first: Structure, second: Structure) -> bool:
    if first.kind is not second.kind or len(first.children) != len(second.children):
        return False
    if first.kind is not dict:
        return all(map(_alike, first.children, second.children))
    mine = dict(zip(first.keys, first.children, strict=True))
    its = dict(zip(second.keys, second.children, strict=True))
    return mine.keys() == its.keys() and all(_alike(mine[key], its[key]) for key in mine)


class RunningConcatenate(Running):
    """Runs its inputs one after another; the next is started when the one before has ended."""

    exact = True

    def __init__(self, op: Concatenate, context: Context) -> None:
        self._op = op
        self._context = context
        self._which = 0
        self._upstream: Input | None = None
        self._first: Spec | None = None
        self._order: list[int] | None = None

    def pull(self, rows: int) -> Block | None:
        while self._which < len(self._op.inputs):
            if self._upstream is None:
                self._upstream = self._context.input(self._which)
            block = self._upstream.pull(rows)
            if block is not None:
                return self._as_first(block)
            self._upstream.close()
            self._upstream, self._order = None, None
            self._which += 1
        return None

    def state(self) -> Any:
        if self._upstream is None and self._which < len(self._op.inputs):
            self._upstream = self._context.input(self._which)
        upstream = None if self._upstream is None else self._upstream.state()
        first = None if self._first is None else said_spec(self._first)
        return {"which": self._which, "input": upstream, "first": first}

    def restore(self, state: Any) -> None:
        self._which, self._first = state["which"], known_spec(state["first"])
        if state["input"] is not None:
            self._upstream = self._context.input(self._which)
            self._upstream.restore(state["input"])

    def _as_first(self, block: Block) -> Block:
        """The block with its columns in the order of the first block's."""
        if self._order is None:
            # One row tells as much as a block does, and the same in blocks of every size.
            spec = block.slice(0, 1).spec()
            self._first = self._first or spec
            self._order = self._op.order(self._first, spec)
        assert self._first is not None
        if block.structure == self._first.structure:
            return block
        columns = [block.columns[place] for place in self._order]
        return Block(self._first.structure, columns, block.rows, block.numbers, block.origin)
