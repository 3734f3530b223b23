"""The rows of an array that lies in a file: in order, or by their numbers."""

from __future__ import annotations

import mmap
import os
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.graph.running import Context
from penstock.io.formats.npy import FormatError, Lying
from penstock.io.formats.stored_source import StoredSource
from penstock.io.stores.local import LocalFile
from penstock.io.stores.stored import Stored

Array = NDArray[Any]
FEW = 16
"""So many rows are taken from a mapped file before its pages go."""
PIECE = 256 << 10
"""So many bytes are unpacked at a time."""
SHORTER = (
    "the file has become shorter while it was read. Write to another name, and rename it when it is whole"
)


class ArrayRows(ABC):
    """An array in a file. Rows are copied out of it, into memory of the caller."""

    @abstractmethod
    def read(self, first: int, out: Array) -> None:
        """Fill `out` with the rows from `first` on."""

    @abstractmethod
    def gather(self, index: NDArray[np.int64], out: Array) -> None:
        """Fill `out` with the rows of these numbers."""

    def close(self) -> None:  # noqa: B027
        """Let go of what was opened for it."""


def rows_of(stored: Stored, lying: Lying, context: Context) -> ArrayRows:
    """The rows of an array: mapped if it is on this machine and the budget has room, else by ranges."""
    if lying.packed:
        return PackedRows(stored, lying, context)
    if isinstance(stored, LocalFile) and lying.nbytes:
        small = lying.nbytes <= context.ledger.budget // 4
        reserved = small and context.account.request(lying.nbytes)
        if reserved or lying.fortran:
            return MappedRows(stored, lying, context, reserved=reserved)

    def read_into(start: int, out: memoryview) -> None:
        if stored.read_into(start, out) < len(out):
            raise FormatError(SHORTER, start)

    return RangedRows(read_into, lying)


class MappedRows(ArrayRows):
    """An array of a file of this machine, mapped.

    Pages that were touched count as memory of the process. So the whole array is reserved; where the
    budget has no room for it, pages are let go of after every few rows.
    """

    def __init__(self, stored: LocalFile, lying: Lying, context: Context, *, reserved: bool) -> None:
        self._account = context.account
        self._reserved = lying.nbytes if reserved else 0
        start = lying.offset // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
        size = lying.offset + lying.nbytes - start
        self._end = start + size
        with open(stored.path, "rb") as file:  # noqa: PTH123
            try:
                self._map = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ, offset=start)
            except ValueError:
                raise FormatError(SHORTER, os.fstat(file.fileno()).st_size) from None
        order: Any = "F" if lying.fortran else "C"
        self._array: Array = np.ndarray(
            lying.shape, lying.dtype, self._map, lying.offset - start, order=order
        )

    def read(self, first: int, out: Array) -> None:
        self._check_size()
        for some in self._pieces(len(out)):
            out[some] = self._array[first + some.start : first + some.stop]
            self._let_go()

    def gather(self, index: NDArray[np.int64], out: Array) -> None:
        self._check_size()
        for some in self._pieces(len(index)):
            # The order of bytes may differ, and then NumPy cannot take straight into `out`.
            if out.dtype == self._array.dtype:
                np.take(self._array, index[some], axis=0, out=out[some], mode="clip")
            else:
                out[some] = self._array[index[some]]
            self._let_go()

    def _check_size(self) -> None:
        """Touching what is no longer there would end the process, without a word."""
        size = self._map.size()
        if size < self._end:
            raise FormatError(SHORTER, size)

    def _pieces(self, count: int) -> list[slice]:
        most = count if self._reserved else FEW
        return [slice(first, min(first + most, count)) for first in range(0, count, max(most, 1))]

    def _let_go(self) -> None:
        if not self._reserved:
            self._map.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        self._array = np.empty(0)  # a map with views of it cannot be closed
        self._map.close()
        self._account.release(self._reserved)
        self._reserved = 0


class RangedRows(ArrayRows):
    """An array whose bytes are read by ranges."""

    def __init__(self, read_into: Callable[[int, memoryview], None], lying: Lying) -> None:
        if lying.fortran:
            raise FormatError(
                f"the array {lying.name!r} has its columns one after another, and rows of it can be read "
                f"only from a file of this machine that is not compressed. Save it in C order",
                lying.offset,
            )
        self._read_into = read_into
        self._dtype = lying.dtype
        self._offset = lying.offset
        self._row = lying.nbytes // max(lying.shape[0], 1)

    def read(self, first: int, out: Array) -> None:
        if out.nbytes:
            fill(out, self._dtype, lambda view: self._read_into(self._offset + first * self._row, view))

    def gather(self, index: NDArray[np.int64], out: Array) -> None:
        if out.nbytes:
            fill(out, self._dtype, lambda view: self._read_rows(index, view))

    def _read_rows(self, index: NDArray[np.int64], view: memoryview) -> None:
        read_into, size = self._read_into, self._row
        for i, start in enumerate((index * size + self._offset).tolist()):
            read_into(start, view[i * size : (i + 1) * size])


def fill(out: Array, dtype: np.dtype[Any], read_into: Callable[[memoryview], None]) -> None:
    """Fill `out` with items that are read as `dtype`, which may have another order of bytes."""
    read_into(out.reshape(-1).view(np.uint8).data)
    if not dtype.isnative:
        out.byteswap(inplace=True)


class PackedRows(ArrayRows):
    """An array that is compressed in an archive: unpacked as it is read in order.

    For rows by their numbers it is unpacked once, to the run's scratch file.
    """

    def __init__(self, stored: Stored, lying: Lying, context: Context) -> None:
        self._stored = stored
        self._lying = lying
        self._scratch = context.scratch
        self._file: Any = None
        self._at = 0
        self._unpacked: RangedRows | None = None
        RangedRows(self._next, lying)  # refuses what it cannot read

    def read(self, first: int, out: Array) -> None:
        if self._unpacked is not None:
            self._unpacked.read(first, out)
            return
        if self._file is None or self._at != first:
            self._begin()
            self._pass_over(first)
        fill(out, self._lying.dtype, lambda view: self._next(0, view))
        self._at = first + len(out)

    def gather(self, index: NDArray[np.int64], out: Array) -> None:
        if self._unpacked is None:
            self._unpacked = self._unpack()
        self._unpacked.gather(index, out)

    def _begin(self) -> None:
        self.close()
        archive = zipfile.ZipFile(StoredSource(self._stored))
        self._file = archive.open(f"{self._lying.name}.npy")
        self._next(0, memoryview(bytearray(self._lying.offset)))

    def _pass_over(self, rows: int) -> None:
        left = self._lying.nbytes // max(self._lying.shape[0], 1) * rows
        while left:
            left -= len(self._file.read(min(left, PIECE))) or left

    def _next(self, _: int, view: memoryview) -> None:
        done = 0
        try:
            while done < len(view):
                count = self._file.readinto(view[done : done + PIECE])
                if not count:
                    raise FormatError(f"the array {self._lying.name!r} is cut off", self._stored.size)
                done += count
        except EOFError:
            raise FormatError(f"the array {self._lying.name!r} is cut off", self._stored.size) from None
        except (zipfile.BadZipFile, zlib.error) as error:
            raise FormatError(f"the array {self._lying.name!r} is damaged: {error}", 0) from None

    def _unpack(self) -> RangedRows:
        lying, scratch = self._lying, self._scratch()
        self._begin()
        start = scratch.allocate(lying.nbytes)
        piece = np.empty(PIECE, np.uint8)
        for done in range(0, lying.nbytes, PIECE):
            part = piece[: min(PIECE, lying.nbytes - done)]
            self._next(0, part.data)
            scratch.write(start + done, part)
        self.close()

        def read_into(offset: int, out: memoryview) -> None:
            scratch.read(offset, np.frombuffer(out, np.uint8))

        there = Lying(lying.name, lying.dtype, lying.shape, lying.fortran, start)
        return RangedRows(read_into, there)

    def close(self) -> None:
        file, self._file = self._file, None
        self._at = 0
        if file is not None:
            file.close()
