"""Files of this machine as memory: mapped read-only, for as long as there is an array over them.

Python's own `mmap` keeps a descriptor open for every mapping, and a user may keep thousands of blocks.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

PAGE = mmap.PAGESIZE

Bytes = NDArray[np.uint8]


class _Mapping:
    """Some pages of a file. They go when nothing refers to it any more."""

    def __init__(self, address: int, size: int) -> None:
        self.__array_interface__ = {"data": (address, True), "shape": (size,), "typestr": "|u1", "version": 3}
        ending = weakref.finalize(self, _unmap, address, size)
        ending.atexit = False  # the process ends, and all of its mappings with it


def map_file(file: int, start: int, stop: int) -> Bytes:
    """The bytes from `start` up to `stop` of an open file, which may be closed afterwards, or OSError.

    The file must not become shorter meanwhile: touching what is no longer there ends the process.
    """
    if stop == start:
        return np.empty(0, np.uint8)
    first = start // PAGE * PAGE
    address = _libc().mmap(None, stop - first, mmap.PROT_READ, mmap.MAP_SHARED, file, first)
    if address == ctypes.c_void_p(-1).value:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return np.asarray(_Mapping(address, stop - first))[start - first :]


def _unmap(address: int, size: int) -> None:
    _libc().munmap(address, size)


@functools.cache
def _libc() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    library.mmap.restype = pointer
    library.mmap.argtypes = (pointer, size, number, number, number, ctypes.c_int64)
    library.munmap.argtypes = (pointer, size)
    return library
