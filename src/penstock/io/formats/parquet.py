"""Parquet files: row groups in batches of a bounded size, and only the columns that are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.errors import PenstockError
from penstock.graph.running import Context
from penstock.io.formats.arrow_source import open_source
from penstock.io.formats.optional import optional
from penstock.io.formats.tables import Agreement, TableReader

BUFFER = 64 << 10
"""So many bytes of each column are read at a time: pages, and never a column's whole chunk."""
AMPLE = 256 << 20
"""A budget that has room for columns to be decoded at the same time, and for what they leave behind."""
PEEK = 32
"""So many rows are read to see how large they are, where the file does not tell."""


class ParquetReader(TableReader):
    """One Parquet file, row group by row group.

    A row group that is damaged is one error, and reading goes on with the next one.
    """

    def __init__(
        self,
        path: str,
        context: Context,
        *,
        columns: tuple[str, ...] | None,
        batch_rows: int | None,
        fill_nulls: Mapping[str, Any],
        agreement: Agreement | None,
    ) -> None:
        super().__init__(path, context, fill_nulls)
        self._columns = columns
        self._batch_rows = batch_rows
        self._ample = context.ledger.budget >= AMPLE
        self._group = 0
        self._batches: Iterator[Any] | None = None
        self._most = 0
        self._given = 0
        """So many rows of the present group were given out."""
        self._passed = 0
        """So many rows there are in the groups before it."""
        self._source = open_source(path, context)
        try:
            self._file, schema, names = self._opened()
            self._promised = self._file.metadata.num_rows
            if columns is not None:
                self.check_columns(columns, names)
                schema = self._arrow.schema([schema.field(name) for name in columns])
            self.settle(schema, agreement)
        except BaseException:
            self.close()
            raise

    def _opened(self) -> tuple[Any, Any, list[str]]:
        """The file, its schema and the names of its columns."""
        parquet = optional("pyarrow.parquet", "parquet")
        try:
            file = parquet.ParquetFile(
                self._source, buffer_size=BUFFER, pre_buffer=False, page_checksum_verification=True
            )
            return file, file.schema_arrow, file.schema_arrow.names
        except PenstockError:
            raise
        except (self._arrow.ArrowException, OSError, ValueError) as error:  # names may be no text
            raise self.failed(
                f"expected a Parquet file, got one that cannot be read as such: {error}"
            ) from error

    def next_batch(self) -> Any:
        while True:
            if self._batches is None and self._group == self._file.num_row_groups:
                return self._end()
            try:
                if self._batches is None:  # to see how large its rows are, some of them are read already
                    self._batches = self._rows_of(self._group)
                batch = next(self._batches, None)
            except PenstockError:
                raise
            except (self._arrow.ArrowException, OSError) as error:
                raise self._damaged(error) from error
            if batch is None:
                self._end_group()
                if not self._ample:  # what is freed is not given back by itself
                    self._arrow.default_memory_pool().release_unused()
            elif batch.num_rows:
                self._given += batch.num_rows
                self._most = max(self._most, -(-batch.nbytes // batch.num_rows))
                return batch if self._columns is None else batch.select(self._columns)

    def _end_group(self) -> None:
        """Go on to the next row group. `DataError` if Arrow has passed over rows of this one."""
        group, given = self._group, self._given
        rows = self._pass_group()
        if given != rows:
            raise self.failed(f"the row group {group} is damaged: expected {rows} rows, got {given}")

    def _end(self) -> None:
        """Nothing; but `DataError`, once, if there should have been other row groups."""
        rows, self._promised = self._promised, self._passed
        if rows != self._passed:
            raise self.failed(
                f"the metadata are damaged: expected {rows} rows, got row groups of {self._passed}"
            )

    def _pass_group(self) -> int:
        """Have done with a row group, which has so many rows."""
        rows: int = self._file.metadata.row_group(self._group).num_rows
        self._passed += rows
        self._group, self._batches, self._given = self._group + 1, None, 0
        return rows

    def _damaged(self, error: Exception) -> Exception:
        group, rows = self._group, self._pass_group()
        # Where it begins is in the metadata of its columns: asked for that, Arrow ends the process if
        # these are damaged too.
        return self.failed(
            f"the row group {group} of {rows} rows is damaged, and the rest of it is passed over: {error}"
        )

    def _rows_of(self, group: int, rows: int | None = None) -> Iterator[Any]:
        rows = rows or self._batch_rows or self._context.rows_for(self._row_bytes(group))
        # Each of Arrow's threads has memory of its own, which a small budget has no room for.
        batches: Iterator[Any] = self._file.iter_batches(
            rows, [group], self._columns, use_threads=self._ample
        )
        return batches

    def _row_bytes(self, group: int) -> int:
        """About how large a row is: as the file says, or as rows have been."""
        about = self._file.metadata.row_group(group)
        if not self._most:
            # A string that is there once, and meant in every row, is in every row when it is read. And the
            # file says only how large the rows are with all their columns.
            batch = next(self._rows_of(group, PEEK), None)
            if batch is not None and batch.num_rows:
                self._most = -(-batch.nbytes // batch.num_rows)
        said: int = about.total_byte_size // max(about.num_rows, 1) if self._columns is None else 0
        return max(said, self._most, 1)

    def close(self) -> None:
        super().close()
        self._batches = None
        self._source.close()
        self._arrow.default_memory_pool().release_unused()
