"""`ragged_batch`: several elements of unequal shape in one `Ragged`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.spec import Spec, TensorSpec
from penstock.blocks.structure import Structure
from penstock.errors import ArgumentTypeError, DataError
from penstock.graph import checks
from penstock.graph.op import INFINITE, Op
from penstock.graph.running import Context, Running
from penstock.memory.account import fewer
from penstock.ops.batch import batched_cardinality
from penstock.ops.parts.assembly import joined
from penstock.ops.parts.gathered import Gathered
from penstock.ops.parts.laid import lay_part
from penstock.ops.parts.ragged_leaf import LaidRagged, RaggedLeaf, ragged_depth


@dataclass(frozen=True, eq=False, kw_only=True)
class RaggedBatch(Op):
    """Puts `size` consecutive elements into one `Ragged` a leaf; fixed shapes are stacked."""

    size: int
    drop_remainder: bool = False
    row_splits_dtype: Any = np.int64

    name = "ragged_batch"
    parted = "evenly"

    def __post_init__(self) -> None:
        checks.count(self.size, "ragged_batch(batch_size=)", least=1)
        checks.flag(self.drop_remainder, "ragged_batch(drop_remainder=)")
        try:
            dtype = np.dtype(self.row_splits_dtype)
        except TypeError:
            dtype = np.dtype(object)
        if dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
            raise ArgumentTypeError(
                self.fail(f"row_splits_dtype=: expected np.int32 or np.int64, got {self.row_splits_dtype!r}.")
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
        return batched_cardinality(self.inputs[0].cardinality, self.size, drop_remainder=self.drop_remainder)


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
        self._gathered = Gathered(context)
        self._structure: Structure | None = None
        self._leaves: list[RaggedLeaf] = []
        self._seen = 0
        self._ended = False

    def pull(self, rows: int) -> Block | None:  # noqa: ARG002
        size, gathered = self._op.size, self._gathered
        if not gathered.rows:
            self._context.track.take(self.state)
        while gathered.rows < size and not self._ended:
            block = self._upstream.pull(size - gathered.rows)
            if block is None:
                self._ended = True
            else:
                self._keep(block)
            del block  # what it holds is not needed while the next part is made
        if not gathered.rows or (gathered.rows < size and self._op.drop_remainder):
            gathered.clear()
            return None
        if not gathered.logged:
            self._need(gathered.bytes)
            if gathered.fits(gathered.bytes):
                return self._join()
            self._move()
        return self._fill()

    def _keep(self, block: Block) -> None:
        if self._structure is None:
            self._begin(block.structure)
        gathered = self._gathered
        if gathered.logged:
            self._see([block], self._seen + gathered.rows)
        gathered.add(block)
        if gathered.rows < self._op.size and gathered.many:
            self._move()
        if gathered.logged:
            # The batch will have no less than this: what cannot fit is told before all rows came.
            self._need(sum(leaf.nbytes for leaf in self._leaves))

    def _begin(self, structure: Structure) -> None:
        self._structure = structure
        spec, splits = self._op.inputs[0].spec, self._op.row_splits_dtype
        for i, path in enumerate(structure.paths()):
            leaf = None if spec is None else spec.leaves[i]
            self._leaves.append(RaggedLeaf(leaf, splits, self._context, path))

    def _move(self) -> None:
        """Put the rows at hand into the log."""
        for leaf in self._leaves:
            leaf.forget()
        self._see(self._gathered.parts, self._seen)
        self._gathered.move()

    def _see(self, parts: list[Block], number: int) -> None:
        for part in parts:
            for leaf, column in zip(self._leaves, part.columns, strict=True):
                leaf.see(column, number)
            number += part.rows

    def _need(self, size: int) -> None:
        rows = max(self._gathered.rows, 1)
        self._context.account.need(size, fewer("batch_size", -(-size // rows)))

    def _join(self) -> Block:
        """The batch of the rows in parts."""
        first, rows = self._seen, self._gathered.rows
        self._seen += rows
        parts = self._gathered.cut(rows)
        several, block = len(parts) > 1, joined(parts, self._context.empty)
        columns = []
        for leaf, column in zip(self._leaves, block.columns, strict=True):
            # A dense column is on the ledger already, and a `Ragged` is counted by itself.
            own = several and not isinstance(column, DenseColumn)
            columns.append(leaf.join(column, first, own=own))
        return Block(block.structure, columns, 1)

    def _fill(self) -> Block:
        """The batch of the rows in the log."""
        gathered, leaves, account = self._gathered, self._leaves, self._context.account
        first, self._seen = self._seen, self._seen + gathered.rows
        try:
            for leaf in leaves:
                leaf.check(first)
        except DataError:
            gathered.clear()
            raise
        self._need(sum(leaf.nbytes for leaf in leaves))
        laid = [leaf.begin(self._context.empty, first) for leaf in leaves]
        gathered.drain(lambda part: lay_part(laid, part))
        assert self._structure is not None
        batch = Block(self._structure, [leaf.column() for leaf in laid], 1)
        # A `Ragged` is counted as one object, so its arrays are counted no more.
        arrays = [array for leaf in laid if isinstance(leaf, LaidRagged) for array in leaf.arrays]
        account.keep(Block(self._structure, [DenseColumn(array) for array in arrays], 1))
        return batch

    def state(self) -> Any:
        return {"input": self._upstream.state(), "seen": self._seen}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._seen = state["seen"]

    def close(self) -> None:
        self._gathered.close()
