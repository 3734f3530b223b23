"""Where in which files the rows of a block were: it goes with them, and is asked when one has failed."""

from __future__ import annotations

import bisect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.int64]
FEW = 8
"""One row of so many is few: it does not keep what is known of all."""


@dataclass(frozen=True, slots=True)
class Place:
    """The byte of a file where an element begins; of a batch, its first one."""

    file: str
    offset: int
    unpacked: bool = False
    """Whether bytes are counted in what the file holds unpacked."""
    batch: bool = False

    def __str__(self) -> str:
        what = "The first element of this batch" if self.batch else "It"
        unpacked = " of what it holds unpacked" if self.unpacked else ""
        return f"{what} came from {self.file}, byte {self.offset}{unpacked}."


class Origin(ABC):
    """Where the rows of one block came from. It computes nothing before it is asked."""

    __slots__ = ()

    @abstractmethod
    def place(self, row: int) -> Place | None:
        """Where that row was; None if it is not known."""

    def slice(self, start: int) -> Origin:
        """That of the rows from `start` on."""
        return Later(self, start) if start else self

    def take(self, index: Index) -> Origin:
        """That of the rows of these numbers."""
        return Taken(self, index)

    def batches(self, size: int) -> Origin:
        """That of batches of `size` rows."""
        return Batches(self, size)

    @staticmethod
    def joined(parts: Sequence[Origin | None], firsts: Sequence[int]) -> Origin:
        """That of several blocks one after another, each with the number of its first row."""
        return Joined(parts, firsts)


@dataclass(frozen=True, slots=True)
class Spaced(Origin):
    """Rows of one file: `offsets` are those of their bytes end to end, between two rows lie `gap` more."""

    file: str
    first: int
    offsets: Index
    gap: int = 0
    unpacked: bool = False

    def place(self, row: int) -> Place:
        at = self.first + int(self.offsets[row] - self.offsets[0]) + row * self.gap
        return Place(self.file, at, self.unpacked)

    def take(self, index: Index) -> Origin:
        # Few rows of many are not to keep the offsets of all.
        starts = self.first + (self.offsets[index] - self.offsets[0]) + index * self.gap
        return Listed([self.file], None, starts, self.unpacked)


@dataclass(frozen=True, slots=True)
class Listed(Origin):
    """Rows whose places are known one by one: `which` of the files each is in, and where it begins."""

    files: Sequence[str]
    which: Sequence[int] | Index | None
    """None where there is but one file."""
    starts: Sequence[int] | Index
    unpacked: bool = False

    def place(self, row: int) -> Place:
        which = 0 if self.which is None else int(self.which[row])
        return Place(self.files[which], int(self.starts[row]), self.unpacked)

    def take(self, index: Index) -> Origin:
        which = None if self.which is None else np.asarray(self.which)[index]
        return Listed(self.files, which, np.asarray(self.starts)[index], self.unpacked)


@dataclass(frozen=True, slots=True)
class Later(Origin):
    """The rows of another from one on."""

    of: Origin
    start: int

    def place(self, row: int) -> Place | None:
        return self.of.place(self.start + row)

    def slice(self, start: int) -> Origin:
        return Later(self.of, self.start + start)

    def take(self, index: Index) -> Origin:
        return self.of.take(index + self.start)


@dataclass(frozen=True, slots=True)
class Taken(Origin):
    """Some rows of another, in any order."""

    of: Origin
    index: Index

    def place(self, row: int) -> Place | None:
        return self.of.place(int(self.index[row]))

    def take(self, index: Index) -> Origin:
        return self.of.take(self.index[index])


@dataclass(frozen=True, slots=True)
class Batches(Origin):
    """Several rows of another a row."""

    of: Origin
    size: int

    def place(self, row: int) -> Place | None:
        found = self.of.place(row * self.size)
        return found and Place(found.file, found.offset, found.unpacked, batch=True)


@dataclass(frozen=True, slots=True)
class Joined(Origin):
    """The rows of several blocks one after another, each with the number of its first row."""

    parts: Sequence[Origin | None]
    firsts: Sequence[int]

    def place(self, row: int) -> Place | None:
        number = bisect.bisect(self.firsts, row) - 1
        part = self.parts[number]
        return None if part is None else part.place(row - self.firsts[number])

    def take(self, index: Index) -> Origin:
        if len(index) * FEW > self.firsts[-1]:
            return Taken(self, index)
        return Places([self.place(row) for row in index.tolist()])


@dataclass(frozen=True, slots=True)
class Places(Origin):
    """A few rows of several blocks."""

    places: Sequence[Place | None]

    def place(self, row: int) -> Place | None:
        return self.places[row]
