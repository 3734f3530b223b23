"""ArrayRecord files: records of bytes, in order or by their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.build import column_of
from penstock.blocks.spec import BYTES, Spec, TensorSpec
from penstock.blocks.structure import LEAF
from penstock.errors import DataError
from penstock.graph.running import Context
from penstock.io.formats.indexed import IndexedFile
from penstock.io.formats.optional import optional
from penstock.io.stores.opening import open_stored

OPTIONS = "readahead_buffer_size:0,max_parallelism:0"
"""No threads and no buffers of the library's own: they would be on no account."""


class ArrayRecordFile(IndexedFile):
    """One file of this machine, read by the library array_record."""

    goes_on = True

    def __init__(self, path: str, context: Context) -> None:
        library = optional("array_record.python.array_record_module", "arrayrecord")
        self._path = path
        self._context = context
        self._reader: Any = None
        with open_stored(path, context):  # says better than the library what is wrong with the name
            self._reader = library.ArrayRecordReader(path, OPTIONS)
        if not self._reader.ok():
            raise self._failed(f"expected an ArrayRecord file: {self._why()}")
        self.rows = self._reader.num_records()
        self.spec = Spec(LEAF, [TensorSpec((), BYTES)])
        self._one = 0
        """The bytes of a record, as they have been."""

    def read(self, first: int, stop: int) -> Block:
        records: list[bytes] = []
        room = self._context.block_bytes
        while first < stop and room > 0:
            # A few at a time: records may grow at any moment.
            last = min(stop, first + max(1, self._context.rows_for(self._one) // 8 if self._one else 1))
            some = self._some(first, last, bool(records))
            if not some:
                break
            records += some
            size = sum(map(len, some))
            self._one = max(1, size // len(some))
            first, room = first + len(some), room - size
        return Block(LEAF, [column_of(records)], len(records))

    def _some(self, first: int, last: int, others: bool) -> list[bytes]:
        """Some of the records from `first` up to `last`; none, if there are others, before a damaged one."""
        try:
            return self._records(lambda: self._reader.read(first, last), first)
        except DataError:
            if last - first > 1:
                return self._some(first, first + 1, others)
            if others:
                return []
            raise

    def gather(self, index: NDArray[np.int64]) -> Block:
        numbers = index.tolist()
        return Block(LEAF, [column_of(self._records(lambda: self._reader.read(numbers), -1))], len(index))

    def _records(self, read: Callable[[], list[bytes]], number: int) -> list[bytes]:
        try:
            return read()
        except (RuntimeError, ValueError) as error:
            which = f"record {number}" if number >= 0 else "one of the records"
            raise self._failed(f"{which} cannot be read: {error}") from None

    def _failed(self, what: str) -> DataError:
        return DataError(
            f"{self._context.where}: {self._path}: {what}.", op=self._context.label, file=self._path
        )

    def _why(self) -> str:
        try:
            self._reader.close()
        except RuntimeError as error:
            return str(error)
        return "it cannot be read"

    def close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None and reader.is_open() and reader.ok():
            reader.close()
