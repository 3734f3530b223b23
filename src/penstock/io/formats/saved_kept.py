"""Narrow columns of Penstock's own files, kept in memory where rows come by their numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from penstock.io.formats.saved import BLOCK, FIXED
from penstock.io.formats.saved_file import SavedFile
from penstock.kernels.spans import offsets_of
from penstock.memory.mapped import Bytes
from penstock.memory.pages import own_pages

Index = NDArray[np.int64]
NARROW = 64
"""Columns of labels, of numbers and of offsets have no more bytes a row."""


class KeptBuffers:
    """Buffers of all blocks of a file, laid end to end: one read a block, where each row would take one.

    `request` says whether there is room for so many bytes more.
    """

    def __init__(self, request: Callable[[int], bool]) -> None:
        self._request = request
        self._found: dict[tuple[str, int], tuple[Bytes, Index] | None] = {}

    def of(self, file: SavedFile, buffer: int, step: int, more: int) -> tuple[Bytes, Index] | None:
        """A buffer with `step` bytes a row and `more` a block, and where blocks begin; None if not kept."""
        if step > NARROW:
            return None
        key = file.path, buffer
        if key not in self._found:
            self._found[key] = self._read(file, buffer, step, more)
        return self._found[key]

    def _read(self, file: SavedFile, buffer: int, step: int, more: int) -> tuple[Bytes, Index] | None:
        if len(file.index.layouts) != 1:
            return None  # the buffer is not the same one in all blocks
        begins = offsets_of(file.index.rows * step + more)
        if not self._request(int(begins[-1])):
            return None
        table = file.index.table
        kept: Bytes = own_pages(int(begins[-1]), np.uint8)
        for number, start in enumerate((table[:, 0] + BLOCK.size + table[:, FIXED + buffer]).tolist()):
            file.read_into(start, kept[begins[number] : begins[number + 1]])
        return kept, begins
