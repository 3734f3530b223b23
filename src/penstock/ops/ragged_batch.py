"""`ragged_batch`: several elements of unequal shape in one `Ragged`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import as_ragged, concat
from penstock.blocks.columns import BytesColumn, Column, DenseColumn, ObjectColumn, RaggedColumn
from penstock.blocks.ragged import ragged_of
from penstock.blocks.spec import Spec, TensorSpec
from penstock.errors import ArgumentTypeError, DataError
from penstock.graph import checks
from penstock.graph.op import INFINITE, Op
from penstock.graph.running import Context, Running
from penstock.ops.batch import batched_cardinality, stack_column


@dataclass(frozen=True, eq=False, kw_only=True)
class RaggedBatch(Op):
    """Puts `size` consecutive elements into one `Ragged` a leaf; fixed shapes are stacked."""

    size: int
    drop_remainder: bool = False
    row_splits_dtype: Any = np.int64

    name = "ragged_batch"

    def __post_init__(self) -> None:
        checks.count(self.size, "ragged_batch(batch_size=)", least=1)
        checks.flag(self.drop_remainder, "ragged_batch(drop_remainder=)")
        try:
            dtype = np.dtype(self.row_splits_dtype)
        except TypeError:
            dtype = np.dtype(object)
        if dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
            raise ArgumentTypeError(
                self.fail(
                    f"row_splits_dtype=: expected np.int32 or np.int64, got "
                    f"{self.row_splits_dtype!r}."
                )
            )
        object.__setattr__(self, "row_splits_dtype", dtype)

    def start(self, context: Context) -> Running:
        return RunningRaggedBatch(self, context)

    def find_spec(self) -> Spec | None:
        spec = self.inputs[0].spec
        if spec is None:
            return None
        count = self.inputs[0].cardinality
        whole = count == INFINITE or (count >= 0 and count % self.size == 0)
        size = self.size if self.drop_remainder or whole else None
        return Spec(spec.structure, [_ragged_spec(leaf, size) for leaf in spec.leaves])

    def find_cardinality(self) -> int:
        return batched_cardinality(
            self.inputs[0].cardinality, self.size, drop_remainder=self.drop_remainder
        )


def ragged_depth(leaf: TensorSpec | None, rank: int) -> int:
    """In how many axes such a leaf is ragged: down to the last one that may vary."""
    if leaf is None or leaf.shape is None:
        return rank
    varies = [axis for axis, size in enumerate(leaf.shape) if size is None]
    return varies[-1] + 1 if varies else 0


def _ragged_spec(leaf: TensorSpec, size: int | None) -> TensorSpec:
    if leaf.shape is None:
        return TensorSpec(None, leaf.dtype)
    depth = ragged_depth(leaf, len(leaf.shape))
    return TensorSpec((size, *[None] * depth, *leaf.shape[depth:]), leaf.dtype)


class RunningRaggedBatch(Running):
    """Gathers the rows of a batch; their shapes become the splits."""

    def __init__(self, op: RaggedBatch, context: Context) -> None:
        self._op = op
        self._context = context
        self._upstream = context.input()
        spec = op.inputs[0].spec
        self._leaves: tuple[TensorSpec, ...] | None = None if spec is None else spec.leaves
        self._parts: list[Block] = []
        self._have = self._seen = 0
        self._bytes = 0
        self._ended = False

    def pull(self, rows: int) -> Block | None:  # noqa: ARG002
        size = self._op.size
        while self._have < size and not self._ended:
            block = self._upstream.pull(size - self._have)
            if block is None:
                self._ended = True
                break
            self._parts.append(block)
            self._have += block.rows
            self._bytes += block.nbytes
            # The rows and their copy in the batch.
            whole = max(self._bytes, -(-block.nbytes // block.rows) * size)
            self._context.account.need(2 * whole, f"Use a batch_size smaller than {size}.")
        if not self._have or (self._have < size and self._op.drop_remainder):
            self._parts = []
            return None
        parts, self._parts, self._have, self._bytes = self._parts, [], 0, 0
        return self._batch(concat(parts, self._context.empty))

    def _batch(self, block: Block) -> Block:
        first, self._seen = self._seen, self._seen + block.rows
        columns = []
        for i, path in enumerate(block.structure.paths()):
            leaf = None if self._leaves is None else self._leaves[i]
            columns.append(self._column(block.columns[i], leaf, path, first))
        return Block(block.structure, columns, 1)

    def _column(self, column: Column, leaf: TensorSpec | None, path: str, first: int) -> Column:
        label = self._context.label
        flat_and_shapes = _flat(column)
        if flat_and_shapes is None:
            return stack_column(column, column.rows, label, path, first)
        flat, shapes = flat_and_shapes
        depth = ragged_depth(leaf, shapes.shape[1])
        if depth == 0:
            return stack_column(column, column.rows, label, path, first)
        odd = (shapes[:, depth:] != shapes[0, depth:]).any(axis=1)
        if odd.any():
            number = first + int(odd.argmax())
            raise DataError(
                f"{label}: expected elements whose shapes end in {shapes[0, depth:].tolist()}, got "
                f"the shape {tuple(shapes[odd.argmax()].tolist())} at element{path} of element "
                f"{number}.",
                op=label,
                number=number,
            )
        array = np.empty(1, object)
        array[0] = ragged_of(flat, shapes, depth, self._op.row_splits_dtype)
        return ObjectColumn(array)

    def close(self) -> None:
        self._parts = []


def _flat(column: Column) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
    """All items of a column one after the other, copied, and the shapes of the rows."""
    if isinstance(column, DenseColumn | RaggedColumn):
        ragged = as_ragged(column)
        return ragged.values[ragged.offsets[0] : ragged.offsets[-1]].copy(), ragged.shapes
    items = list(column.items())
    if isinstance(column, BytesColumn) and column.shape == ():
        return None
    if not all(isinstance(item, np.ndarray) and item.ndim == items[0].ndim for item in items):
        return None
    shapes = np.array([item.shape for item in items], np.int64)
    return np.concatenate([item.ravel() for item in items]), shapes
