"""The four kinds of column: one leaf over the rows of a block.

The kind is how rows are held, never what they mean: a row comes out the same from each of them, and
two blocks of one stream may hold the same leaf in different kinds.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.ragged import Ragged
from penstock.blocks.spec import BYTES, TEXT, TensorSpec, common_of, spec_of
from penstock.kernels.spans import Empty, gather_spans

Index = NDArray[np.int64]


class Column(ABC):
    """One leaf over the rows of a block."""

    __slots__ = ()

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many rows the column has."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The bytes that its rows take."""

    @abstractmethod
    def slice(self, start: int, stop: int) -> Column:
        """The rows from `start` up to `stop`, as a view."""

    @abstractmethod
    def take(self, index: Index, empty: Empty = np.empty) -> Column:
        """The rows of these numbers, copied into memory from `empty`."""

    @abstractmethod
    def item(self, row: int) -> Any:
        """The leaf of one row; a view where it can be one."""

    @abstractmethod
    def items(self) -> Iterable[Any]:
        """The leaves of all rows, in order."""

    @abstractmethod
    def buffers(self) -> tuple[NDArray[Any], ...]:
        """The arrays that hold the rows."""

    @abstractmethod
    def spec(self) -> TensorSpec:
        """A spec that covers every row."""

    def row_bytes(self, row: int) -> int:
        """The bytes of one row."""
        return self.slice(row, row + 1).nbytes

    def settle(self) -> bool:
        """Have the rows in arrays, where they are yet to be made; whether they were."""
        return False


class DenseColumn(Column):
    """Rows of one dtype and one shape: one array with a leading row axis."""

    __slots__ = ("array",)

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the rows."""
        return self.array.dtype

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of a row."""
        return self.array.shape[1:]

    @property
    def locked(self) -> bool:
        """Whether the rows are read-only."""
        return not self.array.flags.writeable

    @property
    def rows(self) -> int:
        return len(self.array)

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    def slice(self, start: int, stop: int) -> DenseColumn:
        return DenseColumn(self.array[start:stop])

    def take(self, index: Index, empty: Empty = np.empty) -> DenseColumn:
        out = empty((len(index), *self.array.shape[1:]), self.array.dtype)
        # mode="clip" lets NumPy write straight into `out`; the caller's numbers are in range.
        np.take(self.array, index, axis=0, out=out, mode="clip")
        return DenseColumn(out)

    def reshaped(self, shape: tuple[int, ...]) -> DenseColumn:
        """The same rows in another shape."""
        return DenseColumn(self.array.reshape(len(self.array), *shape))

    def item(self, row: int) -> Any:
        return self.array[row]

    def items(self) -> Iterable[Any]:
        return self.array

    def buffers(self) -> tuple[NDArray[Any], ...]:
        return (self.array,)

    def spec(self) -> TensorSpec:
        return TensorSpec(self.array.shape[1:], self.array.dtype)


class BytesColumn(Column):
    """Rows of `bytes` or `str` of any length, or arrays of them of one shape: a buffer and offsets."""

    __slots__ = ("offsets", "shape", "text", "values")

    def __init__(
        self, values: NDArray[np.uint8], offsets: Index, *, text: bool, shape: tuple[int, ...] = ()
    ) -> None:
        self.values = values
        self.offsets = offsets
        self.text = text
        self.shape = shape

    @property
    def width(self) -> int:
        """How many strings one row has."""
        return math.prod(self.shape)

    @property
    def rows(self) -> int:
        return (len(self.offsets) - 1) // self.width if self.width else 0

    @property
    def nbytes(self) -> int:
        return int(self.offsets[-1] - self.offsets[0]) + self.offsets.nbytes

    def slice(self, start: int, stop: int) -> BytesColumn:
        width = self.width
        offsets = self.offsets[start * width : stop * width + 1]
        return BytesColumn(self.values, offsets, text=self.text, shape=self.shape)

    def take(self, index: Index, empty: Empty = np.empty) -> BytesColumn:
        index = self._strings_of(index)
        starts = self.offsets[:-1][index]
        lengths = self.offsets[1:][index] - starts
        values, offsets = gather_spans(self.values, starts, lengths, empty)
        return BytesColumn(values, offsets, text=self.text, shape=self.shape)

    def _strings_of(self, index: Index) -> Index:
        """The numbers of the strings of these rows."""
        width = self.width
        return index if width == 1 else (index[:, None] * width + np.arange(width)).ravel()

    def reshaped(self, shape: tuple[int, ...]) -> BytesColumn:
        """The same strings, with another number of them a row."""
        return BytesColumn(self.values, self.offsets, text=self.text, shape=shape)

    def strings(self) -> list[Any]:
        """All strings, flat."""
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        buffer = self.values[first:last].tobytes()
        bounds = (self.offsets - first).tolist()
        cut = [buffer[a:b] for a, b in pairwise(bounds)]
        return [piece.decode() for piece in cut] if self.text else cut

    def item(self, row: int) -> Any:
        one = self.slice(row, row + 1).strings()
        return one[0] if self.shape == () else _object_array(one, self.shape)

    def items(self) -> Iterable[Any]:
        strings = self.strings()
        if self.shape == ():
            return strings
        return _object_array(strings, (self.rows, *self.shape))

    def buffers(self) -> tuple[NDArray[Any], ...]:
        return (self.values, self.offsets)

    def spec(self) -> TensorSpec:
        return TensorSpec(self.shape, TEXT if self.text else BYTES)


class RaggedColumn(Column):
    """Arrays of one dtype and rank but several shapes: flat values, offsets and a shape a row."""

    __slots__ = ("offsets", "shapes", "values")

    def __init__(self, values: NDArray[Any], offsets: Index, shapes: Index) -> None:
        self.values = values
        self.offsets = offsets
        self.shapes = shapes

    @property
    def rows(self) -> int:
        return len(self.shapes)

    @property
    def nbytes(self) -> int:
        held = int(self.offsets[-1] - self.offsets[0]) * self.values.itemsize
        return held + self.offsets.nbytes + self.shapes.nbytes

    def slice(self, start: int, stop: int) -> RaggedColumn:
        return RaggedColumn(self.values, self.offsets[start : stop + 1], self.shapes[start:stop])

    def take(self, index: Index, empty: Empty = np.empty) -> RaggedColumn:
        starts = self.offsets[:-1][index]
        lengths = self.offsets[1:][index] - starts
        values, offsets = gather_spans(self.values, starts, lengths, empty)
        return RaggedColumn(values, offsets, self.shapes[index])

    def item(self, row: int) -> Any:
        flat = self.values[self.offsets[row] : self.offsets[row + 1]]
        return flat.reshape(self.shapes[row])

    def items(self) -> Iterable[Any]:
        bounds = pairwise(self.offsets.tolist())
        shapes = self.shapes.tolist()
        return [self.values[a:b].reshape(shape) for (a, b), shape in zip(bounds, shapes, strict=True)]

    def buffers(self) -> tuple[NDArray[Any], ...]:
        return (self.values, self.offsets, self.shapes)

    def spec(self) -> TensorSpec:
        low, high = self.shapes.min(axis=0), self.shapes.max(axis=0)
        sizes = zip(low.tolist(), high.tolist(), strict=True)
        return TensorSpec(tuple(a if a == b else None for a, b in sizes), self.values.dtype)


class ObjectColumn(Column):
    """Rows of anything else, the last resort: an array of references."""

    __slots__ = ("array",)

    def __init__(self, array: NDArray[np.object_]) -> None:
        self.array = array

    @property
    def rows(self) -> int:
        return len(self.array)

    @property
    def nbytes(self) -> int:
        return self.array.nbytes + sum(size_of(item) for item in self.array)

    def slice(self, start: int, stop: int) -> ObjectColumn:
        return ObjectColumn(self.array[start:stop])

    def take(self, index: Index, empty: Empty = np.empty) -> ObjectColumn:  # noqa: ARG002
        return ObjectColumn(self.array[index])

    def item(self, row: int) -> Any:
        return self.array[row]

    def items(self) -> Iterable[Any]:
        return self.array

    def buffers(self) -> tuple[NDArray[Any], ...]:
        return (self.array,)

    def spec(self) -> TensorSpec:
        return common_of([spec_of(item) for item in self.array])


ITEMS = 256
"""Of a container with more items than this, so many are looked at for its size."""
DEPTH = 6
"""So many containers within one another are looked into for their size."""


def size_of(leaf: Any) -> int:
    """The bytes that a leaf outside an array takes, nearly."""
    if isinstance(leaf, np.ndarray):
        return _size_within(leaf, DEPTH) if leaf.dtype.hasobject else leaf.nbytes + 128
    if isinstance(leaf, np.generic):
        return 128
    if isinstance(leaf, bytes | str):
        return len(leaf) + 64
    if isinstance(leaf, Ragged):
        return leaf.nbytes + 256
    return 128 if leaf is None else max(128, _size_within(leaf, DEPTH))


def _size_within(value: Any, depth: int) -> int:
    """The bytes of an object, with what it contains where it is one of Python's containers."""
    if isinstance(value, bytes | str):
        return len(value) + 64
    if isinstance(value, np.ndarray):
        inner = _size_of_items(value.flat, value.size, depth - 1) if value.dtype.hasobject else 0
        return value.nbytes + 128 + inner
    try:
        size = sys.getsizeof(value)
    except Exception:  # an object may say what it likes of its size
        return 128
    if isinstance(value, dict):
        size += _size_of_items(value.keys(), len(value), depth - 1)
        size += _size_of_items(value.values(), len(value), depth - 1)
    elif isinstance(value, list | tuple | set | frozenset):
        size += _size_of_items(value, len(value), depth - 1)
    return size


def _size_of_items(items: Iterable[Any], count: int, depth: int) -> int:
    """The bytes of the items of a container; of many, some are looked at and stand for all."""
    if not count or depth <= 0:
        return 0
    total, seen = 0, set()
    for item in islice(items, ITEMS):
        if id(item) not in seen:  # one object in many places is there once
            seen.add(id(item))
            total += _size_within(item, depth)
    return total if count <= ITEMS else total * count // ITEMS


def _object_array(items: list[Any], shape: tuple[int, ...]) -> NDArray[np.object_]:
    flat = np.empty(len(items), object)
    flat[:] = items
    return flat.reshape(shape)
