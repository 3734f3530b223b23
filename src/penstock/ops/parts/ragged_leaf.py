"""One leaf of a ragged batch: what its rows are, noted as they come, and where they are laid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.build import as_ragged, concat_columns
from penstock.blocks.columns import BytesColumn, Column, DenseColumn, ObjectColumn, RaggedColumn
from penstock.blocks.ragged import Ragged, ragged_of
from penstock.blocks.spec import TensorSpec
from penstock.errors import DataError
from penstock.graph.running import Context
from penstock.kernels.spans import Empty
from penstock.ops.batch import stack_column
from penstock.ops.parts.assembly import is_locked, read_only
from penstock.ops.parts.laid import Laid, LaidArray, LaidStrings

Shape = tuple[int, ...]
Join = Callable[[Column], Column]


def ragged_depth(leaf: TensorSpec | None, rank: int) -> int:
    """In how many axes such a leaf is ragged: down to the last one that may vary."""
    if leaf is None or leaf.shape is None:
        return rank
    varies = [axis for axis, size in enumerate(leaf.shape) if size is None]
    return varies[-1] + 1 if varies else 0


class RaggedLeaf:
    """One leaf: a batch of few rows is joined at once, one of many is measured and then laid."""

    def __init__(
        self, spec: TensorSpec | None, splits_dtype: np.dtype[Any], context: Context, path: str
    ) -> None:
        self._spec = spec
        self._splits_dtype = splits_dtype
        self._context = context
        self._path = path
        self.forget()

    def forget(self) -> None:
        """Begin another batch."""
        self._kinds: set[Any] = set()
        self._locked = False
        self._bytes = 0  # of the rows; of strings without their offsets
        self._items = 0
        self._rows = 0
        self._depth = 0
        self._levels: list[int] = []  # how many rows the splits of each level have
        self._shape: Shape = ()
        self._odd: tuple[int, Shape] | None = None

    def see(self, column: Column, number: int) -> None:
        """Note the rows of a column, the first of which is element `number`."""
        self._rows += column.rows
        self._locked = self._locked or is_locked(column)
        if isinstance(column, DenseColumn | RaggedColumn):
            self._see_arrays(as_ragged(column), number)
        elif isinstance(column, BytesColumn) and column.shape == ():
            self._kinds.add(column.text)
            self._bytes += int(column.offsets[-1] - column.offsets[0])
        else:
            self._kinds.add(None)
            self._bytes += column.nbytes

    def _see_arrays(self, column: RaggedColumn, number: int) -> None:
        shapes, values = column.shapes, column.values
        rank = shapes.shape[1]
        if not self._kinds:
            self._depth = ragged_depth(self._spec, rank)
            self._levels = [0] * self._depth
            self._shape = tuple(shapes[0].tolist())
        self._kinds.add((values.dtype, rank))
        items = int(column.offsets[-1] - column.offsets[0])
        self._items += items
        self._bytes += items * values.itemsize
        if len(self._kinds) > 1:
            return
        counts = np.ones(len(shapes), np.int64)
        for axis in range(self._depth):
            self._levels[axis] += int(counts.sum())
            counts = counts * shapes[:, axis]
        inner = np.array(self._shape[self._depth :], np.int64)
        odd = (shapes[:, self._depth :] != inner).any(axis=1)
        if self._odd is None and odd.any():
            row = int(odd.argmax())
            self._odd = number + row, tuple(shapes[row].tolist())

    @property
    def nbytes(self) -> int:
        """The bytes of the batch that the rows so far make."""
        if self._kind is None:
            return 2 * self._bytes  # these are kept until all are there, and then joined
        if isinstance(self._kind, bool):
            return self._bytes + 8 * (self._rows + 1)
        return self._bytes + sum(rows + 1 for rows in self._levels) * self._splits_dtype.itemsize

    @property
    def _kind(self) -> Any:
        """The dtype and rank of all rows, or whether they are text and not bytes; else None."""
        return next(iter(self._kinds)) if len(self._kinds) == 1 else None

    def check(self, first: int) -> None:
        """`DataError` where the rows make no batch, the first of which is element `first`."""
        if self._odd is None or not isinstance(self._kind, tuple):
            return
        number, shape = self._odd
        if self._depth:
            raise self._uneven(self._shape, shape, number)
        shapes = np.array([self._shape] * (number - first) + [shape], np.int64)
        nothing = RaggedColumn(np.empty(0), np.zeros(len(shapes) + 1, np.int64), shapes)
        stack_column(nothing, len(shapes), self._context, self._path, first)

    def begin(self, empty: Empty, first: int) -> Laid:
        """Take the memory for the batch of these rows."""
        kind = self._kind
        if kind is None:
            return LaidParts(lambda column: self.join(column, first, own=True))
        if isinstance(kind, bool):
            return LaidStrings(self._bytes, (self._rows,), empty, text=kind)
        dtype, _ = kind
        if not self._depth:
            out = empty((self._rows, *self._shape), dtype)
            return LaidArray(out, dtype.type(), 1, locked=self._locked)
        splits = [empty(rows + 1, self._splits_dtype) for rows in self._levels]
        inner = self._shape[self._depth :]
        return LaidRagged(empty(self._items, dtype), splits, inner, locked=self._locked)

    def join(self, column: Column, first: int, *, own: bool) -> Column:
        """The batch of the rows of one column; `own` says that nobody else has its memory."""
        context, path = self._context, self._path
        flat_and_shapes = _flat(column, own=own)
        if flat_and_shapes is None:
            return stack_column(column, column.rows, context, path, first)
        flat, shapes = flat_and_shapes
        depth = ragged_depth(self._spec, shapes.shape[1])
        if depth == 0:
            return stack_column(column, column.rows, context, path, first)
        odd = (shapes[:, depth:] != shapes[0, depth:]).any(axis=1)
        if odd.any():
            row = int(odd.argmax())
            self._depth = depth
            raise self._uneven(tuple(shapes[0].tolist()), tuple(shapes[row].tolist()), first + row)
        return _one(ragged_of(flat, shapes, depth, self._splits_dtype))

    def _uneven(self, expected: Shape, came: Shape, number: int) -> DataError:
        return DataError(
            f"{self._context.where}: expected elements whose shapes end in "
            f"{list(expected[self._depth :])}, got the shape {came} at element{self._path} of "
            f"element {number}.",
            op=self._context.label,
            number=number,
        )


class LaidRagged:
    """Arrays end to end, and the splits that tell them apart."""

    def __init__(
        self, values: NDArray[Any], splits: list[NDArray[Any]], inner: Shape, *, locked: bool
    ) -> None:
        self._locked = locked
        self._values = values
        self._splits = splits
        self._inner = inner
        self._have = 0
        self._at = [0] * len(splits)
        for level in splits:
            level[0] = 0

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """The memory of the batch."""
        return [self._values, *self._splits]

    def lay(self, column: Column) -> None:
        assert isinstance(column, DenseColumn | RaggedColumn)
        rows = as_ragged(column)
        flat = rows.values[rows.offsets[0] : rows.offsets[-1]]
        self._values[self._have : self._have + len(flat)] = flat
        self._have += len(flat)
        counts = np.ones(len(rows.shapes), np.int64)
        for axis, level in enumerate(self._splits):
            ends = np.cumsum(np.repeat(rows.shapes[:, axis], counts))
            at = self._at[axis]
            level[at + 1 : at + 1 + len(ends)] = ends + int(level[at])
            self._at[axis] += len(ends)
            counts = counts * rows.shapes[:, axis]

    def column(self) -> Column:
        flat = self._values.reshape(-1, *self._inner)
        values: NDArray[Any] | Ragged = read_only(flat) if self._locked else flat
        for level in reversed(self._splits):
            values = Ragged(values, level)
        return _one(values)


class LaidParts:
    """Rows that can only be put together when all of them are there."""

    def __init__(self, join: Join) -> None:
        self._join = join
        self._columns: list[Column] = []

    def lay(self, column: Column) -> None:
        self._columns.append(column)

    def column(self) -> Column:
        return self._join(concat_columns(self._columns))


def _one(value: Any) -> ObjectColumn:
    array = np.empty(1, object)
    array[0] = value
    return ObjectColumn(array)


def _flat(column: Column, *, own: bool) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
    """All items of a column one after the other, and the shapes of the rows."""
    if isinstance(column, DenseColumn | RaggedColumn):
        ragged = as_ragged(column)
        flat = ragged.values[ragged.offsets[0] : ragged.offsets[-1]]
        flat = flat if own else flat.copy()
        return read_only(flat) if is_locked(column) else flat, ragged.shapes
    items = list(column.items())
    if isinstance(column, BytesColumn) and column.shape == ():
        return None
    if not all(isinstance(item, np.ndarray) and item.ndim == items[0].ndim for item in items):
        return None
    shapes = np.array([item.shape for item in items], np.int64)
    return np.concatenate([item.ravel() for item in items]), shapes
