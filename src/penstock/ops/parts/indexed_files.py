"""What sources have in common whose files' elements can be read by their numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import concat
from penstock.blocks.spec import Spec
from penstock.errors import DataError, StoreError
from penstock.graph.op import UNKNOWN, Op, Traits
from penstock.graph.running import Context, Running
from penstock.io.formats.indexed import IndexedFile
from penstock.ops.parts.placed import placed

OPEN = 16
"""So many files are open at a time, when elements come by their numbers."""


@dataclass(frozen=True, eq=False, kw_only=True)
class IndexedFilesOp(Op):
    """The elements of all files, in the order of their names, also by their numbers."""

    filenames: tuple[str, ...]

    traits = Traits(random_access=True)

    @abstractmethod
    def open(self, path: str, context: Context) -> IndexedFile:
        """One of the files, open; its errors carry `context.label` and `context.where`."""

    def start(self, context: Context) -> Running:
        return RunningIndexedFiles(self, context)

    def find_cardinality(self) -> int:
        return UNKNOWN  # the files know, and declaring a dataset opens none

    def sources(self) -> Iterable[str]:
        return self.filenames

    def files(self) -> int | None:
        return len(self.filenames)

    def with_files(self, num_shards: int, index: int) -> Op:
        return self.changed(filenames=self.filenames[index::num_shards])


class RunningIndexedFiles(Running):
    """Reads one file after another, or elements by their numbers."""

    exact = True

    def __init__(self, op: IndexedFilesOp, context: Context) -> None:
        self._op = op
        self._context = context
        self._open: dict[int, IndexedFile] = {}
        self._spec: Spec | None = None
        self._starts: NDArray[np.int64] | None = None
        self._file = 0
        self._at = 0

    def pull(self, rows: int) -> Block | None:
        while self._file < len(self._op.filenames):
            file = None
            try:
                file = self._opened(self._file)
                if self._at < file.rows:
                    block = file.read(self._at, min(self._at + rows, file.rows))
                    self._at += block.rows
                    return block
            except DataError:
                if file is not None and file.goes_on:
                    self._at += 1
                else:  # nothing more comes of this file
                    self._next_file()
                raise
            self._next_file()
        return None

    def state(self) -> Any:
        return {"file": self._file, "at": self._at}

    def restore(self, state: Any) -> None:
        if state["file"]:
            self._opened(0)  # whose rows those of the others are like
        self._file, self._at = state["file"], state["at"]

    def _next_file(self) -> None:
        file = self._open.pop(self._file, None)
        self._file, self._at = self._file + 1, 0
        if file is not None:
            file.close()

    @property
    def size(self) -> int:
        """How many elements all files have."""
        if self._starts is None:
            counts = [self._opened(number).rows for number in range(len(self._op.filenames))]
            self._starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        return int(self._starts[-1])

    def gather(self, index: NDArray[np.int64]) -> Block:
        assert self.size and self._starts is not None
        files = np.searchsorted(self._starts, index, "right") - 1
        parts, places = [], []
        for number in np.unique(files).tolist():
            where = np.flatnonzero(files == number)
            try:
                parts.append(self._opened(number).gather(index[where] - self._starts[number]))
            except DataError as error:
                # The other elements that were asked for with it would be lost: this ends the run.
                raise StoreError(
                    f"{error} Elements that are read by number, as for a shuffle, cannot go on after it.",
                    file=error.file,
                    offset=error.offset,
                ) from error
            places.append(where)
        if len(parts) == 1:
            return parts[0]
        order = np.empty(len(index), np.int64)
        order[np.concatenate(places)] = np.arange(len(index))
        return concat(parts, self._context.empty).take(order, self._context.empty)

    def _opened(self, number: int) -> IndexedFile:
        file = self._open.pop(number, None)
        if file is None:
            with placed(self._context):
                file = self._op.open(self._op.filenames[number], self._context)
            self._check(file, number)
            while len(self._open) >= OPEN:
                self._open.pop(next(iter(self._open))).close()
        self._open[number] = file  # last, as it was used last
        return file

    def _check(self, file: IndexedFile, number: int) -> None:
        if self._spec is None:
            self._spec = file.spec
        if file.spec != self._spec:
            file.close()
            path = self._op.filenames[number]
            raise DataError(
                f"{self._context.where}: {path}: expected rows like those before, {self._spec.nest()}, "
                f"got {file.spec.nest()}. Read the files as two datasets.",
                op=self._context.label,
                file=path,
            )

    def close(self) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()
