"""`batch`: several elements stacked into one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.build import column_of
from penstock.blocks.columns import BytesColumn, Column, DenseColumn, ObjectColumn, RaggedColumn
from penstock.blocks.spec import Spec, TensorSpec, dtype_name, spec_of
from penstock.errors import DataError
from penstock.graph import checks
from penstock.graph.fingerprint import UNSEEN
from penstock.graph.op import INFINITE, UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.kernels.spans import Empty
from penstock.memory.account import fewer
from penstock.ops.parts.assembly import Assembly, lock


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch(Op):
    """Stacks `size` consecutive elements."""

    size: int
    drop_remainder: bool = False
    num_parallel_calls: int | None = field(default=None, repr=False, metadata=UNSEEN)
    deterministic: bool | None = field(default=None, repr=False, metadata=UNSEEN)

    name = "batch"
    parted = "evenly"

    def __post_init__(self) -> None:
        checks.count(self.size, "batch(batch_size=)", least=1)
        checks.flag(self.drop_remainder, "batch(drop_remainder=)")
        checks.parallelism(self.num_parallel_calls, self.deterministic, "batch")

    @property
    def stacks(self) -> int:
        return self.size

    def start(self, context: Context) -> Running:
        return RunningBatch(self, context)

    def at_once(self, empty: Empty) -> Block | None:
        block = self.inputs[0].at_once(empty)
        if block is None or block.rows > self.size or (self.drop_remainder and block.rows < self.size):
            return None
        columns: list[Column] = []
        for column in block.columns:
            if isinstance(column, DenseColumn):
                columns.append(DenseColumn(column.array[None]))
            elif isinstance(column, BytesColumn):
                columns.append(column.reshaped((block.rows, *column.shape)))
            else:
                return None  # rows of several shapes may be an error, which has a place
        return Block(block.structure, columns, 1)

    def find_spec(self) -> Spec | None:
        return batched_spec(self.inputs[0].spec, self.fixed_size())

    def fixed_size(self) -> int | None:
        """The size of every batch, or None where the last one may be smaller."""
        count = self.inputs[0].cardinality
        whole = count == INFINITE or (count >= 0 and count % self.size == 0)
        return self.size if self.drop_remainder or whole else None

    def find_cardinality(self) -> int:
        return batched_cardinality(self.inputs[0].cardinality, self.size, drop_remainder=self.drop_remainder)


def batched_spec(spec: Spec | None, size: int | None) -> Spec | None:
    """The spec of `size` such elements stacked."""
    if spec is None:
        return None
    return Spec(spec.structure, [leaf.batched(size) for leaf in spec.leaves])


def batched_cardinality(count: int, size: int, *, drop_remainder: bool) -> int:
    """How many batches so many elements make."""
    if count in (INFINITE, UNKNOWN):
        return count
    return count // size if drop_remainder else -(-count // size)


class RunningBatch(Running):
    """Reshapes whole blocks where it can, and copies only where a batch lies across two."""

    def __init__(self, op: Batch, context: Context) -> None:
        self._op = op
        self._context = context
        self._upstream = context.input()
        self._begun = Assembly(op.size, context.empty)
        self._uneven: Block | None = None
        self._seen = 0
        self._ended = False

    def pull(self, rows: int) -> Block | None:
        size = self._op.size
        if self._uneven is not None:
            return self._next_uneven()
        if not self._begun.rows:
            self._context.track.take(self.state)
        while not self._ended:
            # With a part of a batch at hand, only that is completed: the next pull is aligned.
            wanted = size - self._begun.rows if self._begun.rows else rows * size
            block = self._upstream.pull(wanted)
            if block is None:
                self._ended = True
                break
            if not self._begun.rows and block.rows >= size:
                whole = block.rows - block.rows % size
                if whole < block.rows:
                    self._keep(block.slice(whole, block.rows))
                return self._stack(block.slice(0, whole))
            self._keep(block)
            del block  # what it holds is not needed while the next part is made
            if self._begun.rows == size:
                return self._stack(self._begun.take())
        if self._begun.rows and not self._op.drop_remainder:
            return self._stack_batch(self._begun.take())
        self._begun.clear()
        return None

    def _keep(self, block: Block) -> None:
        if not self._begun.rows:
            one = -(-block.nbytes // block.rows)
            self._context.account.need(one * self._op.size, fewer("batch_size", one))
        self._begun.add(block)

    def _stack(self, block: Block) -> Block:
        if block.rows > self._op.size and any(
            isinstance(column, RaggedColumn | ObjectColumn) for column in block.columns
        ):
            # One batch of these may fail; those before it must not, so each is stacked by itself.
            self._uneven = block
            return self._next_uneven()
        return self._stack_batch(block)

    def _next_uneven(self) -> Block:
        block, size = self._uneven, self._op.size
        assert block is not None
        self._uneven = block.slice(size, block.rows) if block.rows > size else None
        return self._stack_batch(block.slice(0, size))

    def _stack_batch(self, block: Block) -> Block:
        first, size = self._seen, min(self._op.size, block.rows)
        self._seen += block.rows
        columns = [
            stack_column(column, size, self._context, path, first)
            for column, path in zip(block.columns, block.structure.paths(), strict=True)
        ]
        origin = None if block.origin is None else block.origin.batches(size)
        return Block(block.structure, columns, block.rows // size, origin=origin)

    def state(self) -> Any:
        return {"input": self._upstream.state(), "seen": self._seen}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._seen = state["seen"]

    def close(self) -> None:
        self._begun.clear()
        self._uneven = None


def stack_column(column: Column, size: int, context: Context, path: str, first: int) -> Column:
    """Every `size` rows of a column as one row; `first` is the number of its first element."""
    if isinstance(column, DenseColumn):
        return DenseColumn(column.array.reshape(column.rows // size, size, *column.array.shape[1:]))
    if isinstance(column, BytesColumn):
        return column.reshaped((size, *column.shape))
    if isinstance(column, RaggedColumn):
        shapes = column.shapes
        odd = (shapes != shapes[0]).any(axis=1)
        if odd.any():
            other = int(odd.argmax())
            raise DataError(
                f"{context.where}: expected elements of one shape, but element{path} has shape "
                f"{tuple(shapes[0].tolist())} in element {first} and "
                f"{tuple(shapes[other].tolist())} in element {first + other}. Use padded_batch "
                f"or ragged_batch, or make the shapes equal with a map before the batch.",
                op=context.label,
                number=first + other,
            )
        flat = column.values[column.offsets[0] : column.offsets[-1]]
        return DenseColumn(flat.reshape(column.rows // size, size, *shapes[0].tolist()))
    assert isinstance(column, ObjectColumn)
    return _stack_objects(column, size, context, path, first)


def _stack_objects(column: ObjectColumn, size: int, context: Context, path: str, first: int) -> Column:
    alike = column_of(list(column.array))  # these may be of one kind, where others of their block were not
    if not isinstance(alike, ObjectColumn):
        if any(isinstance(item, np.ndarray) and not item.flags.writeable for item in column.array):
            lock(alike)
        return stack_column(alike, size, context, path, first)
    plain = all(isinstance(item, np.ndarray | np.generic | bytes | str) for item in column.array)
    specs = [spec_of(item) for item in column.array] if plain else []
    for i, spec in enumerate(specs):
        if spec != specs[0]:
            raise DataError(
                f"{context.where}: expected elements of one dtype and shape, but element{path} is "
                f"{_said(specs[0])} in element {first} and {_said(spec)} in element {first + i}. "
                f"Make them equal with a map before the batch.",
                op=context.label,
                number=first + i,
            )
    arrays = specs and isinstance(column.array[0], np.ndarray)
    rows = np.empty(column.rows // size, object)
    for i in range(len(rows)):
        items = column.array[i * size : (i + 1) * size]
        rows[i] = np.stack(list(items)) if arrays else items
    return ObjectColumn(rows)


def _said(spec: TensorSpec) -> str:
    return f"{dtype_name(spec.dtype)} of shape {spec.shape}"
