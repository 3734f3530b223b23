"""`unbatch`: the rows of batches as elements of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import as_leaf, column_of
from penstock.blocks.columns import BytesColumn, Column, DenseColumn, ObjectColumn, RaggedColumn
from penstock.blocks.ragged import Ragged
from penstock.blocks.spec import Spec, TensorSpec
from penstock.errors import ArgumentError, DataError, ElementError
from penstock.graph.op import INFINITE, UNKNOWN, Op
from penstock.graph.running import Context, Running
from penstock.graph.track import Track
from penstock.kernels.spans import offsets_of

NO_AXIS = -1
"""The length of a row that has no first axis."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Unbatch(Op):
    """The rows of every element along the first axis of its leaves."""

    name = "unbatch"
    parted = "each"

    def __post_init__(self) -> None:
        check_batches(self, self.inputs[0].spec)

    def start(self, context: Context) -> Running:
        return RunningUnbatch(context)

    def find_spec(self) -> Spec | None:
        spec = self.inputs[0].spec
        return None if spec is None else row_spec(spec)

    def find_cardinality(self) -> int:
        above, size = self.inputs[0].cardinality, batch_size(self.inputs[0].spec)
        if above == INFINITE:
            return INFINITE
        return UNKNOWN if above == UNKNOWN or size is None else above * size


def check_batches(op: Op, spec: Spec | None) -> None:
    """Refuse elements of which the spec says that they cannot be taken apart into rows."""
    if spec is None:
        return
    sizes = {}
    for path, leaf in zip(spec.structure.paths(), spec.leaves, strict=True):
        if leaf.shape == ():
            raise ArgumentError(
                op.fail(
                    f"expected elements with a first axis, got a scalar at element{path}. "
                    f"Add a batch before it."
                )
            )
        if leaf.shape is not None and leaf.shape[0] is not None:
            sizes[f"element{path}"] = leaf.shape[0]
    if len(set(sizes.values())) > 1:
        raise ArgumentError(op.fail(f"expected first axes of one length, got {sizes}."))


def row_spec(spec: Spec) -> Spec:
    """The spec of the rows of such elements."""
    leaves = [TensorSpec(leaf.shape and leaf.shape[1:], leaf.dtype) for leaf in spec.leaves]
    return Spec(spec.structure, leaves)


def batch_size(spec: Spec | None) -> int | None:
    """How many rows each such element has, where the spec tells."""
    sizes = [leaf.shape[0] for leaf in spec.leaves if leaf.shape] if spec is not None else []
    return next((size for size in sizes if size is not None), None)


class RunningUnbatch(Running):
    """Takes blocks of batches apart: dense columns by a reshape, without a copy."""

    def __init__(self, context: Context, track: Track | None = None) -> None:
        """With a `track` of its own it is a part of another op."""
        self._track = track or context.track
        self._label, self._where = context.label, context.where
        self._upstream = context.input()
        self._rest: Block | None = None
        self._batches: Block | None = None
        self._error: ElementError | None = None
        self._size = 1
        self._seen = 0
        self.ragged: dict[int, Any] = {}
        """The leaves that came as `Ragged`, each with the dtype of its splits."""

    def pull(self, rows: int) -> Block | None:
        while True:
            if self._rest is not None:
                whole = self._rest
                self._rest = whole.slice(rows, whole.rows) if rows < whole.rows else None
                return whole.slice(0, min(rows, whole.rows))
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            block, self._batches = self._batches, None
            if block is None:
                self._track.take(self.state)
                block = self._upstream.pull(max(1, rows // self._size))
            if block is None:
                return None
            self._take_apart(block)

    def _take_apart(self, block: Block) -> None:
        lengths = [row_lengths(column, block.rows) for column in block.columns]
        good = block.rows
        for length in lengths:
            wrong = np.flatnonzero((length != lengths[0]) | (length == NO_AXIS))
            good = min(good, int(wrong[0]) if len(wrong) else good)
        if good < block.rows:
            sizes = [int(length[good]) for length in lengths]
            self._error = self._wrong(block, sizes, self._seen + good)
            if good + 1 < block.rows:
                self._batches = block.slice(good + 1, block.rows)
        self._seen += min(good + 1, block.rows)
        total = int(lengths[0][:good].sum())
        for i, column in enumerate(block.columns):
            if isinstance(column, ObjectColumn) and isinstance(column.array[0], Ragged):
                self.ragged[i] = column.array[0].row_splits.dtype
        if total:
            self._size = max(1, total // good)
            columns = [rows_of(column) for column in block.slice(0, good).columns]
            self._rest = Block(block.structure, columns, total)

    def _wrong(self, block: Block, sizes: list[int], number: int) -> DataError:
        paths = block.structure.paths()
        if NO_AXIS in sizes:
            why = f"expected leaves with a first axis, got a scalar at element{paths[sizes.index(NO_AXIS)]}"
        else:
            found = {f"element{path}": size for path, size in zip(paths, sizes, strict=True)}
            why = f"expected first axes of one length, got {found}"
        return DataError(f"{self._where}: {why} in element {number}.", op=self._label, number=number)

    def state(self) -> Any:
        return {"input": self._upstream.state(), "seen": self._seen}

    def restore(self, state: Any) -> None:
        self._upstream.restore(state["input"])
        self._seen = state["seen"]

    def close(self) -> None:
        self._rest = self._batches = self._error = None


def row_lengths(column: Column, rows: int) -> NDArray[np.int64]:
    """The length of each row's first axis, or `NO_AXIS`."""
    if isinstance(column, DenseColumn):
        shape = column.array.shape[1:]
    elif isinstance(column, BytesColumn):
        shape = column.shape
    elif isinstance(column, RaggedColumn):
        return column.shapes[:, 0]
    else:
        return np.array([(*np.shape(item), NO_AXIS)[0] for item in column.items()], np.int64)
    return np.full(rows, shape[0] if shape else NO_AXIS)


def rows_of(column: Column) -> Column:
    """The rows of all batches of a column, one after another; there is at least one."""
    if isinstance(column, DenseColumn):
        batches, size, *shape = column.array.shape
        return DenseColumn(column.array.reshape(batches * size, *shape))
    if isinstance(column, BytesColumn):
        return column.reshaped(column.shape[1:])
    if isinstance(column, RaggedColumn):
        return _ragged_rows(column)
    assert isinstance(column, ObjectColumn)
    return column_of([as_leaf(row) for item in column.array for row in item])


def _ragged_rows(column: RaggedColumn) -> Column:
    shapes = np.repeat(column.shapes[:, 1:], column.shapes[:, 0], axis=0)
    flat = column.values[column.offsets[0] : column.offsets[-1]]
    if (shapes == shapes[0]).all():
        return DenseColumn(flat.reshape(len(shapes), *shapes[0].tolist()))
    return RaggedColumn(flat, offsets_of(shapes.prod(axis=1)), shapes)
