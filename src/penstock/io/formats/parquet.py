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
        self._source = open_source(path, context)
        try:
            self._file = self._opened()
            schema = self._file.schema_arrow
            if columns is not None:
                self.check_columns(columns, schema.names)
                schema = self._arrow.schema([schema.field(name) for name in columns])
            self.settle(schema, agreement)
        except BaseException:
            self.close()
            raise

    def _opened(self) -> Any:
        parquet = optional("pyarrow.parquet", "parquet")
        try:
            return parquet.ParquetFile(
                self._source, buffer_size=BUFFER, pre_buffer=False, page_checksum_verification=True
            )
        except PenstockError:
            raise
        except (self._arrow.ArrowException, OSError) as error:
            raise self.failed(
                f"expected a Parquet file, got one that cannot be read as such: {error}"
            ) from error

    def next_batch(self) -> Any:
        while True:
            if self._batches is None:
                if self._group == self._file.num_row_groups:
                    return None
                self._batches = self._rows_of(self._group)
            try:
                batch = next(self._batches, None)
            except PenstockError:
                raise
            except (self._arrow.ArrowException, OSError) as error:
                raise self._damaged(error) from error
            if batch is None:
                self._group += 1
                self._batches = None
                if not self._ample:  # what is freed is not given back by itself
                    self._arrow.default_memory_pool().release_unused()
            elif batch.num_rows:
                self._most = max(self._most, -(-batch.nbytes // batch.num_rows))
                return batch if self._columns is None else batch.select(self._columns)

    def _damaged(self, error: Exception) -> Exception:
        group = self._group
        rows = self._file.metadata.row_group(group).num_rows
        self._group, self._batches = group + 1, None
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
