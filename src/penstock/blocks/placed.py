"""Strings that lie anywhere in larger buffers, and are laid side by side when they are asked for.

Reading, putting several files in turn, parsing and decoding only say where long strings lie. So a shuffle
copies them straight from where they were read to.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import BytesColumn, Column, Index
from penstock.kernels.spans import Empty, gather_places

LARGE = 1 << 10
"""Strings of fewer bytes on average are laid at once: that costs little."""
Held = Sequence[NDArray[Any]]
"""The buffers that addresses point into."""
publishing = threading.Lock()
"""Held for a moment by who has laid something that waited."""


class PlacedStrings(BytesColumn):
    """Strings by their addresses; `held` are the buffers that they lie in."""

    __slots__ = ("_empty", "_laid", "begins", "held", "lengths")

    def __init__(
        self,
        begins: Index,
        lengths: Index,
        held: Held,
        empty: Empty,
        *,
        text: bool = False,
        shape: tuple[int, ...] = (),
    ) -> None:
        self.begins, self.lengths = begins, lengths
        self.held = held
        self.text = text
        self.shape = shape
        self._empty = empty
        self._laid: tuple[NDArray[np.uint8], Index] | None = None

    def _lay(self) -> tuple[NDArray[np.uint8], Index]:
        held = self.held  # another thread may be laying them as well
        laid = self._laid
        if laid is None:
            laid = gather_places(self.begins, self.lengths, self._empty)
            with publishing:  # the first stays: somebody may have its addresses
                laid = self._laid = self._laid or laid
            self.held = ()
        del held
        return laid

    @property
    def waits(self) -> bool:
        """Whether nobody has asked for them yet."""
        return self._laid is None

    @property
    def values(self) -> NDArray[np.uint8]:  # type: ignore[override]
        """The bytes of all strings."""
        return self._lay()[0]

    @property
    def offsets(self) -> Index:  # type: ignore[override]
        """Where each begins."""
        return self._lay()[1]

    @property
    def rows(self) -> int:
        return len(self.lengths) // self.width if self.width else 0

    @property
    def nbytes(self) -> int:
        return int(self.lengths.sum()) + 8 * (len(self.lengths) + 1)

    def slice(self, start: int, stop: int) -> BytesColumn:
        held = self.held
        if self._laid is not None:
            return super().slice(start, stop)
        part = slice(start * self.width, stop * self.width)
        begins, lengths = self.begins[part], self.lengths[part]
        return PlacedStrings(begins, lengths, held, self._empty, text=self.text, shape=self.shape)

    def take(self, index: Index, empty: Empty = np.empty) -> BytesColumn:
        held = self.held
        if self._laid is not None:
            return super().take(index, empty)
        index = self._strings_of(index)
        values, offsets = gather_places(self.begins[index], self.lengths[index], empty)
        del held
        return BytesColumn(values, offsets, text=self.text, shape=self.shape)

    def reshaped(self, shape: tuple[int, ...]) -> BytesColumn:
        held = self.held
        if self._laid is not None:
            return super().reshaped(shape)
        return PlacedStrings(self.begins, self.lengths, held, self._empty, text=self.text, shape=shape)

    def settle(self) -> bool:
        return self._laid is None and self._lay() is not None

    def buffers(self) -> tuple[NDArray[Any], ...]:
        held = self.held
        return (*held, self.begins, self.lengths) if self._laid is None else self._laid


def places_of(column: BytesColumn) -> tuple[Index, Index, Held]:
    """The addresses of a column's strings, their lengths, and the buffers that they lie in."""
    if isinstance(column, PlacedStrings):
        held = column.held
        if column.waits:
            return column.begins, column.lengths, held
    values, offsets = column.values, column.offsets
    return offsets[:-1] + values.ctypes.data, offsets[1:] - offsets[:-1], (values,)


def picked(columns: Sequence[Column], index: Index, empty: Empty) -> PlacedStrings | None:
    """The rows of these numbers, of several columns end to end, where they lie: long strings, else None."""
    strings = [column for column in columns if isinstance(column, BytesColumn) and column.shape == ()]
    if len(strings) < len(columns) or len({column.text for column in strings}) > 1:
        return None
    if not worth_placing(sum(column.nbytes for column in strings), sum(column.rows for column in strings)):
        return None
    places = [places_of(column) for column in strings]
    both = np.array([np.concatenate([place[i] for place in places]) for i in range(2)])
    begins, lengths = both.take(index, axis=1)
    held = {id(buffer): buffer for place in places for buffer in place[2]}
    return PlacedStrings(begins, lengths, list(held.values()), empty, text=strings[0].text)


def worth_placing(size: int, strings: int) -> bool:
    """Whether so many strings, of that many bytes, are better left where they are."""
    return size >= LARGE * strings and "numba" in sys.modules
