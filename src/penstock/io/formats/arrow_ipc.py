"""Arrow's own files and streams (IPC, Feather): batches in pieces, from a map where it can be."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from typing import Any

from penstock.blocks.columns import Column
from penstock.blocks.copied import copied
from penstock.errors import PenstockError
from penstock.graph.running import Context
from penstock.io.formats.optional import optional
from penstock.io.formats.stored_source import StoredSource
from penstock.io.formats.tables import Agreement, TableReader
from penstock.io.stores.local import LocalFile
from penstock.io.stores.opening import open_stored

FILE = b"ARROW1"
"""How a file begins; a stream begins with its first message."""
OLD = b"FEA1"


class ArrowReader(TableReader):
    """One file or stream of record batches.

    A file of this machine is mapped: of batches that are not compressed, only the pages of the piece
    that is being read are in memory, and they go when it is copied. Other batches are in memory while
    they are read.
    """

    own = False

    def __init__(
        self,
        path: str,
        context: Context,
        *,
        columns: tuple[str, ...] | None,
        fill_nulls: Mapping[str, Any],
        agreement: Agreement | None,
    ) -> None:
        super().__init__(path, context, fill_nulls)
        self._columns = columns
        self._map: mmap.mmap | None = None
        self._places = range(0)
        self._batch: Any = None
        self._first = 0
        self._next = 0
        self._held = 0
        self._stored = open_stored(path, context)
        try:
            self._reader = self._opened()
            schema = self._reader.schema
            if columns is not None:
                self.check_columns(columns, schema.names)
                schema = self._arrow.schema([schema.field(name) for name in columns])
            self.settle(schema, agreement)
        except BaseException:
            self.close()
            raise

    def _opened(self) -> Any:
        ipc = optional("pyarrow.ipc", "parquet")
        begins = self._stored.read(0, 6)
        self._is_file = begins == FILE
        if begins[:4] == OLD:
            raise self.failed("expected an Arrow file, got one of Feather's first version. Write it anew", 0)
        try:
            return ipc.open_file(self._source()) if self._is_file else ipc.open_stream(self._source())
        except PenstockError:
            raise
        except (self._arrow.ArrowException, OSError) as error:
            raise self.failed(f"expected an Arrow file or stream, got none: {error}", 0) from error

    def _source(self) -> Any:
        if not isinstance(self._stored, LocalFile) or not self._stored.size:
            return self._arrow.PythonFile(StoredSource(self._stored), mode="r")
        with open(self._stored.path, "rb") as file:  # noqa: PTH123
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        buffer = self._arrow.py_buffer(self._map)
        self._places = range(buffer.address, buffer.address + buffer.size)
        return self._arrow.BufferReader(buffer)

    def _is_mapped(self, batch: Any) -> bool:
        buffers = [buffer for column in batch.columns for buffer in column.buffers() if buffer is not None]
        return all(buffer.address in self._places for buffer in buffers if buffer.size)

    def _hold(self, size: int) -> None:
        """Reserve so much for a batch that is in memory, in place of the one before."""
        account, held, self._held = self._context.account, self._held, 0
        account.release(held)
        if size:
            account.require(size, "That is a batch of the file: write it with fewer rows a batch.")
            self._held = size

    def next_batch(self) -> Any:
        """A piece of the present batch, or of the next one."""
        self._check_size()
        while self._batch is None or self._first == self._batch.num_rows:
            self._batch, self._first = None, 0
            self._hold(0)
            try:
                self._batch = self._read_batch()
            except PenstockError:
                raise
            except (self._arrow.ArrowException, OSError) as error:
                self._end()
                raise self.failed(
                    f"batch {self._next - 1} is damaged, and the rest passed over: {error}"
                ) from error
            if self._batch is None:
                return None
        batch, first = self._batch, self._first
        rows = self._context.rows_for(batch.nbytes // max(batch.num_rows, 1))
        self._first = min(first + rows, batch.num_rows)
        return batch.slice(first, self._first - first)

    def _check_size(self) -> None:
        """Touching mapped bytes that are no longer there would end the process, without a word."""
        if self._reader is None or self._map is None:
            return
        if (size := self._map.size()) < len(self._map):
            self._end()
            raise self.failed(
                "the file has become shorter while it was read, and the rest is passed over. Write to "
                "another name, and rename it when it is whole",
                size,
            )

    def _read_batch(self) -> Any:
        number = self._next
        self._next += 1
        if self._reader is None:
            return None
        if self._is_file:
            if number >= self._reader.num_record_batches:
                return None
            batch = self._reader.get_batch(number)
        else:
            try:
                batch = self._reader.read_next_batch()
            except StopIteration:
                return None
        batch.validate()
        self._hold(0 if self._is_mapped(batch) else batch.get_total_buffer_size())
        return batch if self._columns is None else batch.select(self._columns)

    def copy(self, column: Column) -> Column:
        """A column in memory of its own; the pages that it was in go before those of the next one come."""
        column = copied(column, self._context.empty)
        if self._map is not None:
            self._map.madvise(mmap.MADV_DONTNEED)
        return column

    def _end(self) -> None:
        self._reader = self._batch = None
        self._hold(0)

    def close(self) -> None:
        super().close()
        self._end()
        self._map = None  # closed with the last batch that is a view of it
        self._stored.close()
