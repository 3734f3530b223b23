"""A block as flat buffers and a small description, for files; and back, any range of its rows."""

from __future__ import annotations

import math
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
from penstock.blocks.structure import LEAF, Structure
from penstock.errors import PenstockError
from penstock.kernels.spans import Empty, offsets_of

ALIGNED = 8
"""Every buffer begins at a multiple of so many bytes."""

Read = Callable[[int, NDArray[Any]], None]
"""Fills an array with the bytes at an offset from the block's beginning."""
Fetch = Callable[["Buffer", int, int], NDArray[Any]]
"""The items of a buffer from one number up to another, along the first axis."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """One flat buffer of a packed column; `shape` has the row axis first."""

    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def step(self) -> int:
        """The bytes of one item along the first axis."""
        return self.dtype.itemsize * math.prod(self.shape[1:])


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

    def leaf(self, number: int) -> Packed:
        """One leaf of the same rows; its buffers are where they were."""
        return Packed(LEAF, self.rows, (self.columns[number],), self.nbytes)


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
            f"{type(item).__name__}: {error}. Raise the memory budget, or use leaves that are "
            f"arrays, numbers, bytes or str."
        ) from error


def unpack(packed: Packed, read: Read, start: int, stop: int, empty: Empty = np.empty) -> Block:
    """The rows from `start` up to `stop` of a packed block."""

    def fetch(buffer: Buffer, first: int, last: int) -> NDArray[Any]:
        out = empty((last - first, *buffer.shape[1:]), buffer.dtype)
        read(buffer.offset + first * buffer.step, out)
        return out

    return _unpack(packed, fetch, start, stop)


def unpack_views(packed: Packed, raw: NDArray[np.uint8]) -> Block:
    """All rows of a packed block whose bytes are at hand, as views of them."""

    def fetch(buffer: Buffer, first: int, last: int) -> NDArray[Any]:
        part = raw[buffer.offset + first * buffer.step : buffer.offset + last * buffer.step]
        if buffer.step == 0:
            return np.empty((last - first, *buffer.shape[1:]), buffer.dtype)
        return part.view(buffer.dtype).reshape(last - first, *buffer.shape[1:])

    return _unpack(packed, fetch, 0, packed.rows)


def _unpack(packed: Packed, fetch: Fetch, start: int, stop: int) -> Block:
    columns = [_unpack_column(column, fetch, start, stop) for column in packed.columns]
    return Block(packed.structure, columns, stop - start)


def _unpack_column(column: PackedColumn, fetch: Fetch, start: int, stop: int) -> Column:
    buffers = column.buffers
    if column.kind == "dense":
        return DenseColumn(fetch(buffers[0], start, stop))
    if column.kind == "bytes":
        width = math.prod(column.shape)
        values, offsets = _fetch_flat(buffers, fetch, start * width, stop * width)
        return BytesColumn(values, offsets, text=column.text, shape=column.shape)
    values, offsets = _fetch_flat(buffers, fetch, start, stop)
    if column.kind == "ragged":
        return RaggedColumn(values, offsets, fetch(buffers[2], start, stop))
    return ObjectColumn(unpickle_rows(values, offsets))


def _fetch_flat(
    buffers: Sequence[Buffer], fetch: Fetch, start: int, stop: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    offsets = fetch(buffers[1], start, stop + 1)
    first, last = int(offsets[0]), int(offsets[-1])
    return fetch(buffers[0], first, last), offsets - first


def unpickle_rows(values: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.object_]:
    """The object leaves of pickles laid end to end."""
    flat, bounds = values.tobytes(), offsets.tolist()
    out = np.empty(len(bounds) - 1, object)
    for i in range(len(out)):
        out[i] = pickle.loads(flat[bounds[i] : bounds[i + 1]])
    return out
