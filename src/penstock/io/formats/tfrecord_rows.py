"""Records of TFRecord files by their number, through their indexes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import BytesColumn
from penstock.blocks.origin import Listed
from penstock.blocks.structure import LEAF
from penstock.errors import DataError, ElementError, StoreError
from penstock.graph.running import Context
from penstock.io.formats.tfrecord import TFRecordReader
from penstock.io.formats.tfrecord_index import FileIndex, find, make
from penstock.io.stores.decompress import Stream
from penstock.io.stores.opening import open_stored
from penstock.io.stores.stored import Stored
from penstock.kernels.frames import FOOT, HEAD, unframe
from penstock.kernels.spans import offsets_of

Index = NDArray[np.int64]

OPEN = 64
"""The most files that are kept open."""


class IndexedRecords:
    """The records of several files as one row of numbers.

    The index of a file of which all records were gathered, and none failed, is marked as verified at the end.
    """

    def __init__(self, paths: Sequence[str], indexes: list[FileIndex], context: Context) -> None:
        self._paths = paths
        self._indexes = indexes
        self._context = context
        self._firsts = offsets_of(np.array([index.elements for index in indexes], np.int64))
        self._open: OrderedDict[int, Stored] = OrderedDict()
        self._reserved = sum(index.nbytes for index in indexes)
        if context.account.request(self._reserved):
            for index in indexes:
                index.in_memory()
            self._good = self._none_yet()
        else:
            self._good = None
            self._reserved = 0
            context.note("reads the index of its files from disk again and again")

    @classmethod
    def of(cls, paths: Sequence[str], context: Context, *, made: bool) -> IndexedRecords | None:
        """The records of these files, if all have an index that is verified; or any, `made` where none is.

        So rows that nobody will gather are known to be good, unless all are to be gathered.
        """
        indexes: list[FileIndex] = []
        try:
            for path in paths:
                with open_stored(path) as stored:
                    index = find(stored)
                    if not made and (index is None or not index.verified):
                        break
                    indexes.append(make(stored, context.empty) if index is None else index)
            else:
                return cls(paths, indexes, context)
        except BaseException:
            _close(indexes)
            raise
        _close(indexes)
        return None

    @property
    def size(self) -> int:
        """How many elements there are: the records, and one for the damage that ends a file."""
        return int(self._firsts[-1])

    def gather(self, index: Index) -> Block:
        """The rows of these numbers from the first on, a block's worth at most, and up to one that fails.

        Where the first one fails, its error.
        """
        which = np.searchsorted(self._firsts, index, side="right") - 1
        starts, ends = self._spans(which, index)
        rows = self._fitting(ends - starts)
        if rows == 0:
            return self._alone(int(which[0]), int(starts[0]), int(index[0]))
        places = offsets_of((ends - starts)[:rows])
        self._context.account.need(int(places[1]), "That is for one record: make records smaller.")
        buffer = self._context.empty(int(places[-1]), np.uint8)
        self._read(buffer, places, which[:rows], starts[:rows], ends[:rows])
        bounds = np.empty(rows + 1, np.int64)
        good = unframe(buffer, 0, len(buffer), buffer, 0, bounds, rows)[0]
        if good == 0:
            return self._alone(int(which[0]), int(starts[0]), int(index[0]))
        if self._good is not None:
            self._good[index[:good]] = True
        bounds = bounds[: good + 1]
        column = BytesColumn(buffer[: bounds[-1]], bounds, text=False)
        return Block(LEAF, [column], good, origin=Listed(self._paths, which[:good], starts[:good]))

    def _none_yet(self) -> NDArray[np.bool_] | None:
        """Which rows are known to be good; None where all are, or there is no memory for that."""
        if all(index.verified for index in self._indexes) or not self._context.account.request(self.size):
            return None
        self._reserved += self.size
        return np.zeros(self.size, np.bool_)

    def _spans(self, which: Index, index: Index) -> tuple[Index, Index]:
        starts, ends = np.empty_like(index), np.empty_like(index)
        local = index - self._firsts[which]
        for file in np.unique(which).tolist():
            mine = which == file
            starts[mine], ends[mine] = self._indexes[file].spans(local[mine])
        return starts, ends

    def _fitting(self, sizes: Index) -> int:
        """How many of these make a block, before the first that is damaged."""
        damaged = np.flatnonzero(sizes == 0)
        whole = int(damaged[0]) if len(damaged) else len(sizes)
        fitting = int(np.searchsorted(np.cumsum(sizes[:whole]), self._context.block_bytes, side="right"))
        return min(whole, max(1, fitting))

    def _read(
        self, buffer: NDArray[np.uint8], places: Index, which: Index, starts: Index, ends: Index
    ) -> None:
        """Read these frames, those that lie side by side in one go."""
        apart = (starts[1:] != ends[:-1]) | (which[1:] != which[:-1])
        firsts = np.concatenate([[0], np.flatnonzero(apart) + 1])
        lasts = np.concatenate([firsts[1:], [len(starts)]])
        view = buffer.data
        runs = zip(
            which[firsts].tolist(), starts[firsts].tolist(), places[firsts].tolist(), places[lasts].tolist(),
            strict=True,
        )  # fmt: skip
        for file, start, first, last in runs:
            self._stored(file).read_into(start, view[first:last])

    def _stored(self, file: int) -> Stored:
        stored = self._open.get(file)
        if stored is None:
            stored = self._open[file] = open_stored(self._paths[file])
            if stored.stamp != self._indexes[file].stamp:
                raise StoreError(
                    f"{self._context.where}: {stored.path} was changed while it was read. Start again.",
                    file=stored.path,
                )
            if len(self._open) > OPEN:
                self._open.popitem(last=False)[1].close()
        self._open.move_to_end(file)
        return stored

    def _alone(self, file: int, start: int, number: int) -> Block:
        """One row, read as files are read in order: what is wrong with it is said in the same way."""
        stream = _From(self._stored(file), start)
        row = number - int(self._firsts[file])
        reader = TFRecordReader(stream, None, self._context, HEAD + FOOT, start=start, row=row)
        try:
            block = reader.pull(1)
        except ElementError as error:
            error.number = number
            raise
        if block is None:
            path = stream.stored.path
            message = f"{self._context.where}: {path} at byte {start}: expected record {row}, got the end."
            raise DataError(message, op=self._context.label, number=number, file=path, offset=start)
        return block

    def close(self) -> None:
        """Close all files, mark the indexes of those that are good, and give back what was reserved."""
        if self._good is not None:
            for index, good in zip(self._indexes, np.split(self._good, self._firsts[1:-1]), strict=True):
                if good.all():
                    index.verify()
        self._good = None
        self._context.account.release(self._reserved)
        self._reserved = 0
        while self._open:
            self._open.popitem()[1].close()
        _close(self._indexes)


class _From(Stream):
    """The bytes of a file from some place on; the file stays open."""

    def __init__(self, stored: Stored, start: int) -> None:
        self.stored = stored
        self._at = start

    def read_into(self, out: memoryview) -> int:
        count = self.stored.read_into(self._at, out)
        self._at += count
        return count

    def close(self) -> None:
        pass


def _close(indexes: list[FileIndex]) -> None:
    while indexes:
        indexes.pop().close()
