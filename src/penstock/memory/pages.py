"""Memory straight from the operating system, page by page, and back to it.

The C library keeps what is freed for later, and in pieces too small to give back. What a run keeps
for long, or in large arrays, therefore lies on pages of its own.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PAGE = mmap.PAGESIZE
LEAST = 4 * PAGE
"""Smaller arrays are left to NumPy."""


def map_pages(size: int) -> mmap.mmap:
    """So many bytes of zeros, of this process alone."""
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


_FIXED = 0x10
"""`MAP_FIXED`: at that address, in place of what is there."""


class _Mapping:
    """A piece of shared memory at an address: unmapped when nobody refers to it any more."""

    def __init__(self, descriptor: int, size: int) -> None:
        self.address: Any = None
        libc = _libc()
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
        self._size, self._unmap = size, libc.munmap
        self.address = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, descriptor, 0)
        if self.address == ctypes.c_void_p(-1).value:
            self.address = None
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def make_private(self, descriptor: int) -> None:
        """Map the same bytes at the same address again, for this process alone: a page is copied when it is
        written."""
        protection, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | _FIXED
        _libc().mmap(self.address, self._size, protection, flags, descriptor, 0)

    def __del__(self) -> None:
        if self.address is not None:
            self._unmap(ctypes.c_void_p(self.address), ctypes.c_size_t(self._size))


def map_shared(descriptor: int, size: int) -> Any:
    """So many bytes of a file, shared with whoever has it; with `mmap` each would have a descriptor more."""
    mapping = _Mapping(descriptor, size)
    buffer: Any = (ctypes.c_ubyte * size).from_address(mapping.address)
    buffer.mapping = mapping  # it lives as long as the buffer does
    return buffer


_POPULATE_WRITE, _HUGE_PAGE = 23, 14
"""`MADV_POPULATE_WRITE`, since Linux 5.14, and `MADV_HUGEPAGE`: where a call fails, nothing is lost."""
HUGE = 2 << 20
"""The bytes of a huge page: there are far fewer of them to be given, found and taken back."""


class Pages(NamedTuple):
    """Some of a piece of mapped memory."""

    memory: mmap.mmap
    start: int


def whole_pages(size: int) -> int:
    """So many bytes in whole pages, in huge ones where they are nearly full."""
    huge = -(-size // HUGE) * HUGE
    return huge if huge - size <= size // 32 else -(-size // PAGE) * PAGE


def map_whole(size: int) -> Pages:
    """Memory of `whole_pages`, all of it there at once, as it is going to be written."""
    if size < HUGE:
        pages = Pages(map_pages(size), 0)
    else:
        memory = map_pages(size + HUGE)  # what is never touched is only an address
        address = np.frombuffer(memory, np.uint8).ctypes.data
        pages = Pages(memory, -address % HUGE)
    array = np.frombuffer(pages.memory, np.uint8, size, pages.start)
    if size >= HUGE:
        _advise(array, _HUGE_PAGE)
    _advise(array, _POPULATE_WRITE)
    return pages


def _advise(array: NDArray[Any], advice: int) -> None:
    _libc().madvise(ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), advice)


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def own_pages(shape: Any, dtype: Any) -> NDArray[Any]:
    """An array on pages of its own, if it is large: they go back when it is dropped."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size < LEAST or dtype.hasobject:
        return np.empty(shape, dtype)
    return np.frombuffer(map_pages(size), dtype).reshape(shape)


class GrowingArray:
    """Rows of one dtype and shape in one array that grows and shrinks in place.

    Growing moves pages, not bytes, and shrinking gives them back. A view of `rows` must not be
    kept over a `resize`.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._shape = shape
        self._dtype = dtype
        self._row_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        self._pages: mmap.mmap | None = None
        self._size = 0
        self.rows: NDArray[Any] = np.empty((0, *shape), dtype)

    def resize(self, rows: int) -> None:
        """Have room for so many rows; the first ones stay as they are."""
        if self._row_bytes == 0:
            self.rows = np.empty((rows, *self._shape), self._dtype)
            return
        size = -(-max(rows, 1) * self._row_bytes // PAGE) * PAGE
        self.rows = self.rows[:0].copy()
        if self._pages is None:
            self._pages = map_pages(size)
        elif size != self._size:
            try:
                self._pages.resize(size)
            except (BufferError, SystemError):  # whoever looks at them has them from now on; or no mremap
                kept = min(size, self._size)
                seen, self._pages = self._pages, map_pages(size)
                self._pages[:kept] = seen[:kept]
        self._size = size
        flat = np.frombuffer(self._pages, self._dtype, count=rows * self._row_bytes // self._dtype.itemsize)
        self.rows = flat.reshape(rows, *self._shape)

    def close(self) -> None:
        """Give all pages back."""
        self.rows = self.rows[:0].copy()
        if self._pages is not None:
            with suppress(BufferError):  # they go when the last one who looks at them does
                self._pages.close()
            self._pages = None
            self._size = 0
