"""Memory in which a read or a write beyond its end is seen."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np


class Guarded:
    """Memory whose end borders on memory that cannot be read."""

    def __init__(self, size: int = 1 << 16) -> None:
        self._map = mmap.mmap(-1, size + mmap.PAGESIZE)
        self._bytes = np.frombuffer(self._map, np.uint8)
        self._size = size
        libc = ctypes.CDLL(None, use_errno=True)
        address = ctypes.c_void_p(self._bytes.ctypes.data + size)
        assert libc.mprotect(address, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0

    def put(self, raw: bytes) -> Any:
        """The bytes, up to the border."""
        part = self._bytes[self._size - len(raw) : self._size]
        part[:] = np.frombuffer(raw, np.uint8)
        return part


class Canaries:
    """Arrays with bytes before and behind them that nobody may write."""

    ROOM = 4096
    BYTE = 0xA5

    def __init__(self) -> None:
        self._made: list[Any] = []

    def empty(self, shape: Any, dtype: Any) -> Any:
        """An array, as `np.empty` makes it."""
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        whole = np.full(size + 2 * self.ROOM, self.BYTE, np.uint8)
        self._made.append(whole)
        return whole[self.ROOM : self.ROOM + size].view(dtype).reshape(shape)

    def check(self) -> None:
        """Hold all of them to what they were, and forget them."""
        for whole in self._made:
            assert (whole[: self.ROOM] == self.BYTE).all(), "written before the beginning"
            assert (whole[-self.ROOM :] == self.BYTE).all(), "written beyond the end"
        self._made.clear()
