"""`rebatch`: batches of other sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.columns import BytesColumn, Column, DenseColumn, ObjectColumn, RaggedColumn
from penstock.blocks.ragged import stacked_rows
from penstock.blocks.spec import Spec
from penstock.errors import ArgumentError, ElementError
from penstock.graph import checks
from penstock.graph.op import UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.graph.track import Track
from penstock.memory.account import fewer
from penstock.ops.batch import batched_spec, stack_column
from penstock.ops.parts.assembly import Assembly
from penstock.ops.parts.dropped import let_go
from penstock.ops.unbatch import RunningUnbatch, batch_size, check_batches, row_spec


@dataclass(frozen=True, eq=False, kw_only=True)
class Rebatch(Op):
    """The rows of the input's batches in batches of `sizes`, over and over."""

    sizes: tuple[int, ...]
    drop_remainder: bool = False

    name = "rebatch"
    parted = "each"

    def __post_init__(self) -> None:
        for size in self.sizes:
            checks.count(size, "rebatch(batch_size=)", least=0)
        if not any(self.sizes):
            raise ArgumentError(self.fail(f"expected a batch_size of at least 1, got {list(self.sizes)}."))
        checks.flag(self.drop_remainder, "rebatch(drop_remainder=)")
        check_batches(self, self.inputs[0].spec)

    def start(self, context: Context) -> Running:
        return RunningRebatch(self, context)

    def find_spec(self) -> Spec | None:
        spec = self.inputs[0].spec
        return None if spec is None else batched_spec(row_spec(spec), self.fixed_size())

    def fixed_size(self) -> int | None:
        """The size of every batch, or None where they may differ."""
        size, given = self.sizes[0], batch_size(self.inputs[0].spec)
        if any(other != size for other in self.sizes):
            return None
        whole = given is not None and given % size == 0
        return size if self.drop_remainder or whole else None

    def find_cardinality(self) -> int:
        return UNKNOWN


def sizes_of(batch_size: Any) -> tuple[Any, ...]:
    """The sizes to cycle through: one, or those of a list."""
    if isinstance(batch_size, list | tuple | np.ndarray):
        return tuple(np.atleast_1d(np.asarray(batch_size, object)).tolist())
    return (batch_size,)


class RunningRebatch(Running):
    """Takes batches apart into rows and stacks these anew, many batches at a time if it can."""

    def __init__(self, op: Rebatch, context: Context) -> None:
        self._op = op
        self._context = context
        self._track = Track()
        self._unbatched = RunningUnbatch(context, self._track)
        self._track.stand(self._unbatched.state())
        self._sizes = op.sizes
        self._uniform = len(set(op.sizes)) == 1
        self._batch = 0
        self._rest: Block | None = None
        self._like: Block | None = None
        self._begun = Assembly(0, context.empty)
        self._seen = 0
        self._again = 0  # so many rows have been used up before
        self._ended = False

    def pull(self, rows: int) -> Block | None:
        size = self._sizes[self._batch % len(self._sizes)]
        if size == 0:
            return self._of_no_rows()
        if not self._begun.rows and self._rest is None:
            self._context.track.take(self.state)
        while not self._ended:
            have = self._begun.rows
            block = self._next(size - have if have else self._needed(rows))
            if block is None:
                self._ended = True
                break
            batches = 0 if have else min(rows, block.rows // size)
            if batches:
                batches = batches if self._uniform and _stacks(block) and not self._unbatched.ragged else 1
                return self._stack(self._cut(block, batches * size), size)
            if not have:
                one = -(-block.nbytes // block.rows)
                self._context.account.need(one * size, fewer("batch_size", one))
                self._begun = Assembly(size, self._context.empty)
            self._begun.add(self._cut(block, size - have))
            del block  # what it holds is not needed while the next batch is made
            if self._begun.rows == size:
                return self._stack(self._begun.take(), size)
        if self._begun.rows and not self._op.drop_remainder:
            left = self._begun.take()
            return self._stack(left, left.rows)
        self._begun.clear()
        return None

    def _needed(self, batches: int) -> int:
        """How many rows the next batches have together."""
        at = self._batch % len(self._sizes)
        rounds, more = divmod(batches, len(self._sizes))
        return rounds * sum(self._sizes) + sum((self._sizes * 2)[at : at + more])

    def _of_no_rows(self) -> Block | None:
        """A batch of no rows, which a size of 0 asks for."""
        if self._like is None:
            self._rest = self._next(1)
        if self._like is None:
            return None
        self._batch += 1
        columns = [_no_rows(column) for column in self._like.columns]
        return Block(self._like.structure, columns, 1)

    def _next(self, wanted: int) -> Block | None:
        """The rows that are at hand, or else up to so many more."""
        block, self._rest = self._rest, None
        if block is None:
            block = self._unbatched_rows(wanted)
            if block is not None and 0 in self._sizes:
                self._like = block.slice(0, 1)
        return block

    def _unbatched_rows(self, wanted: int) -> Block | None:
        """The next rows, without those that were used up before a state."""
        while self._again:
            try:
                block = self._unbatched.pull(self._again)
            except ElementError as error:
                let_go(error)
                passed = 1
            else:
                passed = self._again if block is None else block.rows
            self._again -= passed
            self._track.passed(passed)
        try:
            block = self._unbatched.pull(wanted)
        except ElementError:
            self._track.passed(1)
            raise
        self._track.passed(0 if block is None else block.rows)
        return block

    def state(self) -> Any:
        return {"rows": self._track.at, "since": self._track.since, "seen": self._seen, "batch": self._batch}

    def restore(self, state: Any) -> None:
        self._unbatched.restore(state["rows"])
        self._track.stand(state["rows"])
        self._again, self._seen, self._batch = state["since"], state["seen"], state["batch"]

    def _cut(self, block: Block, rows: int) -> Block:
        """Up to so many rows of a block; the others are kept at hand."""
        if rows >= block.rows:
            return block
        self._rest = block.slice(rows, block.rows)
        return block.slice(0, rows)

    def _stack(self, block: Block, size: int) -> Block:
        first, batches = self._seen, block.rows // size
        self._seen += block.rows
        self._batch += batches
        columns = [
            _ragged(column, self._unbatched.ragged[i])
            if i in self._unbatched.ragged
            else stack_column(column, size, self._context, path, first)
            for i, (column, path) in enumerate(zip(block.columns, block.structure.paths(), strict=True))
        ]
        return Block(block.structure, columns, batches)

    def close(self) -> None:
        self._begun.clear()
        self._rest = self._like = None
        self._unbatched.close()


def _ragged(column: Column, splits_dtype: Any) -> Column:
    """One batch of rows that came out of a `Ragged`, as another."""
    batch = np.empty(1, object)
    batch[0] = stacked_rows(list(column.items()), splits_dtype)
    return ObjectColumn(batch)


def _stacks(block: Block) -> bool:
    """Whether no batch of these rows can fail, so that many can be stacked at once."""
    return all(isinstance(column, DenseColumn | BytesColumn) for column in block.columns)


def _no_rows(column: Column) -> Column:
    """One batch of no rows such as those of a column."""
    if isinstance(column, DenseColumn):
        return DenseColumn(np.empty((1, 0, *column.array.shape[1:]), column.array.dtype))
    if isinstance(column, RaggedColumn):
        return DenseColumn(np.empty((1, 0, *column.shapes[0].tolist()), column.values.dtype))
    batch = np.empty(1, object)
    batch[0] = np.empty((0, *np.shape(column.item(0))), object)
    return ObjectColumn(batch)
