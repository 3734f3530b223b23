"""A block as flat buffers and a small description, for files; and back, any range of its rows."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import (
    BytesColumn,
    Column,
    DenseColumn,
    ObjectColumn,
    RaggedColumn,
)
from penstock.blocks.structure import Structure
from penstock.errors import PenstockError
from penstock.kernels.spans import Empty, offsets_of

ALIGNED = 8
"""Every buffer begins at a multiple of so many bytes."""

Read = Callable[[int, NDArray[Any]], None]
"""Fills an array with the bytes at an offset from the block's beginning."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """One flat buffer of a packed column; `shape` has the row axis first."""

    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def read(self, read: Read, start: int, stop: int, empty: Empty) -> NDArray[Any]:
        """The items from `start` up to `stop` along the first axis."""
        out = empty((stop - start, *self.shape[1:]), self.dtype)
        step = self.dtype.itemsize * int(np.prod(self.shape[1:], dtype=np.int64))
        read(self.offset + start * step, out)
        return out


@dataclass(frozen=True, slots=True)
class PackedColumn:
    """A column's kind and where its buffers lie."""

    kind: str
    buffers: tuple[Buffer, ...]
    text: bool = False
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Packed:
    """What a block's flat buffers mean; they lie end to end in `nbytes` bytes."""

    structure: Structure
    rows: int
    columns: tuple[PackedColumn, ...]
    nbytes: int


def pack(block: Block) -> tuple[Packed, list[tuple[int, NDArray[Any]]]]:
    """A block's description, and its buffers, each with the offset where it belongs."""
    placed: list[tuple[int, NDArray[Any]]] = []
    end = 0

    def place(array: NDArray[Any]) -> Buffer:
        nonlocal end
        buffer = Buffer(end, array.dtype, array.shape)
        placed.append((end, array))
        end += -(-array.nbytes // ALIGNED) * ALIGNED
        return buffer

    columns = tuple(_pack_column(column, place) for column in block.columns)
    return Packed(block.structure, block.rows, columns, end), placed


def _pack_column(column: Column, place: Callable[[NDArray[Any]], Buffer]) -> PackedColumn:
    if isinstance(column, DenseColumn):
        return PackedColumn("dense", (place(column.array),))
    if isinstance(column, BytesColumn):
        buffers = _place_flat(column.values, column.offsets, place)
        return PackedColumn("bytes", buffers, column.text, column.shape)
    if isinstance(column, RaggedColumn):
        flat = _place_flat(column.values, column.offsets, place)
        return PackedColumn("ragged", (*flat, place(column.shapes)))
    assert isinstance(column, ObjectColumn)
    pickled = [pickle_row(item) for item in column.array]
    values = np.frombuffer(b"".join(pickled), np.uint8)
    offsets = offsets_of(np.fromiter(map(len, pickled), np.int64, len(pickled)))
    return PackedColumn("object", _place_flat(values, offsets, place))


def _place_flat(
    values: NDArray[Any], offsets: NDArray[np.int64], place: Callable[[NDArray[Any]], Buffer]
) -> tuple[Buffer, Buffer]:
    first, last = int(offsets[0]), int(offsets[-1])
    return place(values[first:last]), place(offsets - first)


def pickle_row(item: Any) -> bytes:
    """An object leaf as bytes."""
    try:
        return pickle.dumps(item, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise PenstockError(
            f"Expected leaves that can be pickled, to put them on disk, got a "
            f"{type(item).__name__}: {error}. Raise the memory budget, or use leaves that are arrays, "
            f"numbers, bytes or str."
        ) from error


def unpack(
    packed: Packed, read: Read, start: int, stop: int, empty: Empty = np.empty
) -> Block:
    """The rows from `start` up to `stop` of a packed block."""
    columns = [_unpack_column(column, read, start, stop, empty) for column in packed.columns]
    return Block(packed.structure, columns, stop - start)


def _unpack_column(
    column: PackedColumn, read: Read, start: int, stop: int, empty: Empty
) -> Column:
    buffers = column.buffers
    if column.kind == "dense":
        return DenseColumn(buffers[0].read(read, start, stop, empty))
    if column.kind == "bytes":
        width = int(np.prod(column.shape, dtype=np.int64))
        values, offsets = _read_flat(buffers, read, start * width, stop * width, empty)
        return BytesColumn(values, offsets, text=column.text, shape=column.shape)
    values, offsets = _read_flat(buffers, read, start, stop, empty)
    if column.kind == "ragged":
        return RaggedColumn(values, offsets, buffers[2].read(read, start, stop, empty))
    return ObjectColumn(unpickle_rows(values, offsets))


def _read_flat(
    buffers: Sequence[Buffer], read: Read, start: int, stop: int, empty: Empty
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    offsets = buffers[1].read(read, start, stop + 1, empty)
    first, last = int(offsets[0]), int(offsets[-1])
    values = buffers[0].read(read, first, last, empty)
    return values, offsets - first


def unpickle_rows(values: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.object_]:
    """The object leaves of pickles laid end to end."""
    flat, bounds = values.tobytes(), offsets.tolist()
    out = np.empty(len(bounds) - 1, object)
    for i in range(len(out)):
        out[i] = pickle.loads(flat[bounds[i] : bounds[i + 1]])
    return out
