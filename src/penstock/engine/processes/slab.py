"""Slabs: anonymous shared memory between this process and one worker, handed over by descriptor.

A slab is a file without a name (`memfd`): nothing in `/dev/shm`, and nothing to leave behind. It begins with
a few bytes in which a worker says how far it is; the buffers of a block follow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import column_of
from penstock.blocks.columns import BytesColumn, Column, ObjectColumn
from penstock.blocks.pack import Packed, pack, unpack_views
from penstock.blocks.structure import LEAF
from penstock.kernels.spans import offsets_of
from penstock.memory.buffers import Lease
from penstock.memory.pages import map_shared

HEAD = 64
"""Bytes at the beginning of a slab that are no part of a block."""
NO_ROW = -1
"""What a worker says of the row that it is at where it is at all of them."""
STEP = 16 << 10
"""Slabs grow in steps of so many bytes."""
AT_ONCE = 1 << 20
"""So many bytes are copied without letting go of Python's lock: among many threads it takes longer to get it
back."""


class Slab:
    """One piece of shared memory, mapped here; it grows and never shrinks."""

    def __init__(self, descriptor: int, size: int = 0) -> None:
        self.descriptor = descriptor
        self.number = 0
        """What the two sides call it, where a worker has several for its results."""
        self.size = 0
        self._pages: Any = None
        if size:
            self.see(size)

    @classmethod
    def make(cls, size: int) -> Slab:
        """A new slab with room for `size` bytes."""
        made = cls(os.memfd_create("penstock", os.MFD_CLOEXEC))
        try:
            made.grow(size)
        except BaseException:
            made.close()
            raise
        return made

    def grow(self, size: int) -> None:
        """Have that many bytes; nobody has views of it now."""
        os.ftruncate(self.descriptor, size)
        self.see(size)

    def see(self, size: int) -> None:
        """Map that many bytes, which are there."""
        if size != self.size:
            self._pages = map_shared(self.descriptor, size)
            self.size = size

    def lease(self) -> Lease:
        """All of it, as the root of views whose death can be noticed."""
        return Lease(self.size, np.uint8, self._whole())

    def bytes(self) -> NDArray[np.uint8]:
        """What follows the head."""
        return np.frombuffer(self._whole(), np.uint8, offset=HEAD)

    def progress(self) -> memoryview:
        """The head, as numbers: the first is the row that a worker is at."""
        return np.frombuffer(self._whole(), np.uint8, HEAD).data.cast("q")

    def _whole(self) -> Any:
        assert self._pages is not None, "a slab that is closed"
        return self._pages

    def close(self) -> None:
        """Give it back; the memory goes with the last process that has it."""
        self._pages, self.size = None, 0
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def make_private(self) -> None:
        """What is written to it from now on is seen in this process alone, and in no child of it."""
        if self.descriptor >= 0 and self._pages is not None:
            self._pages.mapping.make_private(self.descriptor)

    def discard(self) -> None:
        """Give it back with its memory, whoever has it mapped: nobody looks at it any more."""
        if self.descriptor >= 0:
            os.ftruncate(self.descriptor, 0)
        self.close()


def slab_bytes(size: int) -> int:
    """How large a slab is that has room for `size` bytes of buffers."""
    return -(-(HEAD + size) // STEP) * STEP


@dataclass(frozen=True, slots=True)
class Laid:
    """A block that lies in a slab: what is where."""

    packed: Packed
    objects: tuple[str, ...]
    """For each column, which kind it is where its rows are pickled: "object", "rows", or nothing."""
    frozen: tuple[bool, ...]
    """For each column, whether its rows are read-only."""

    @property
    def nbytes(self) -> int:
        """The bytes that it takes."""
        return self.packed.nbytes


class Laying:
    """A block about to be laid into a slab: its size is known first."""

    def __init__(self, block: Block, dumps: Callable[[Any], bytes]) -> None:
        kinds = tuple(_kind(column) for column in block.columns)
        columns = [
            _pickled(column, dumps) if kind else column
            for column, kind in zip(block.columns, kinds, strict=True)
        ]
        packed, self._placed = pack(Block(block.structure, columns, block.rows))
        frozen = tuple(not column.buffers()[0].flags.writeable for column in block.columns)
        self.laid = Laid(packed, kinds, frozen)

    def clear_of(self, slab: Slab) -> None:
        """Have nothing lie in that slab but what lies at its place there already, which is left there."""
        raw = slab.bytes()
        begin = _address(raw)
        self._placed = [
            (offset, array.copy() if np.may_share_memory(array, raw) else array)
            for offset, array in self._placed
            if not (array.flags.c_contiguous and _address(array) == begin + offset)
        ]

    def write(self, slab: Slab) -> None:
        """Copy the buffers there."""
        raw = slab.bytes()
        for offset, array in self._placed:
            place = raw[offset : offset + array.nbytes]
            if 0 < array.nbytes <= AT_ONCE and array.flags.c_contiguous:
                place.data[:] = array.reshape(-1).view(np.uint8).data
            elif array.nbytes:
                place.view(array.dtype).reshape(array.shape)[...] = array


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def lying(laid: Laid, raw: NDArray[np.uint8], loads: Callable[[bytes], Any]) -> Block:
    """The block that lies in a slab, as views of its bytes."""
    block = unpack_views(laid.packed, raw)
    columns: list[Column] = []
    for column, kind, frozen in zip(block.columns, laid.objects, laid.frozen, strict=True):
        seen = _unpickled(column, kind, loads) if kind else column
        if frozen and not kind:
            for buffer in seen.buffers():
                buffer.flags.writeable = False
        columns.append(seen)
    # Identity is looked at where it saves time.
    return Block(LEAF if block.structure.is_leaf else block.structure, columns, block.rows)


def copied(block: Block, laid: Laid, empty: Callable[[Any, Any], NDArray[Any]]) -> Block:
    """The same block in memory of this process's own."""
    columns: list[Column] = []
    for column, kind, frozen in zip(block.columns, laid.objects, laid.frozen, strict=True):
        columns.append(column if kind else _copied(column, empty, frozen=frozen))
    return block.with_columns(columns)


def _copied(column: Column, empty: Callable[[Any, Any], NDArray[Any]], *, frozen: bool) -> Column:
    own = column.slice(0, column.rows)
    names: tuple[str, ...] = own.__slots__
    for name in names:
        array = getattr(own, name)
        if isinstance(array, np.ndarray):
            made = empty(array.shape, array.dtype)
            made[...] = array
            made.flags.writeable = not frozen
            setattr(own, name, made)
    return own


def _kind(column: Column) -> str:
    if isinstance(column, ObjectColumn):
        return "object"
    return "rows" if any(buffer.dtype.hasobject for buffer in column.buffers()) else ""


def _pickled(column: Column, dumps: Callable[[Any], bytes]) -> BytesColumn:
    rows: Sequence[bytes] = [dumps(item) for item in column.items()]
    values = np.frombuffer(b"".join(rows), np.uint8)
    return BytesColumn(values, offsets_of(np.fromiter(map(len, rows), np.int64, len(rows))), text=False)


def _unpickled(column: Column, kind: str, loads: Callable[[bytes], Any]) -> Column:
    items = [loads(item) for item in column.items()]
    if kind == "rows":
        return column_of(items)
    array = np.empty(len(items), object)
    for i, item in enumerate(items):
        array[i] = item
    return ObjectColumn(array)
