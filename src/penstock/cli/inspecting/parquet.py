"""Parquet files: the schema and the row groups, and every page read and checked."""

from __future__ import annotations

from typing import Any

from penstock.cli.inspecting.findings import FileFound, Finding
from penstock.cli.inspecting.looking import Looking, open_file
from penstock.cli.inspecting.recognise import Kind
from penstock.cli.inspecting.tables import Table
from penstock.errors import PenstockError
from penstock.io.formats.optional import optional
from penstock.io.formats.stored_source import StoredSource
from penstock.io.stores.stored import Stored

ROWS = 4096
"""So many rows are read at a time."""
BUFFER = 64 << 10


class _Source(StoredSource):
    """A file that remembers where it was first read since `first` was forgotten."""

    first: int | None = None

    def read(self, size: int = -1) -> bytes:
        if self.first is None:
            self.first = self.tell()
        return super().read(size)


def inspect(path: str, kind: Kind, looking: Looking) -> Finding:
    """What is in a Parquet file."""
    found = Finding(path, "Parquet", unit="row", compression=kind.compression)
    stored = open_file(path, looking.progress)
    try:
        _look(found, stored, looking)
    finally:
        stored.close()
    return found


def _look(found: Finding, stored: Stored, looking: Looking) -> None:
    arrow, parquet = optional("pyarrow", "parquet"), optional("pyarrow.parquet", "parquet")
    damage = (arrow.ArrowException, OSError, UnicodeDecodeError)
    source = _Source(stored)
    footer = _footer(stored.read(max(stored.size - 8, 0), 8), stored.size)
    try:
        opened = arrow.PythonFile(source, mode="r")
        file = parquet.ParquetFile(
            opened, buffer_size=BUFFER, pre_buffer=False, page_checksum_verification=True
        )
        table, rows, groups = Table(file.schema_arrow), file.metadata.num_rows, file.metadata.num_row_groups
        found.details["row_groups"] = groups
        found.details["written_by"] = file.metadata.created_by or "unknown"
    except damage as error:
        _raise_own(error)
        found.wrong(found.path, footer, f"the footer, which says where everything is, is damaged: {error}")
        found.files = [FileFound(found.path, stored.size, None, 1)]
        return
    looked = 0
    while looked < groups and (looking.records is None or table.rows < looking.records):
        try:
            _read(file, looked, table, found, looking)
        except damage as error:
            _raise_own(error)
            _blame(file, looked, found, source, footer, damage, error)
        looked += 1
    # Asking for what a damaged footer says can end the process, so it is asked where all could be read.
    if not found.damaged:
        _describe(found, file.metadata, looked)
    table.finish(found)
    found.records = rows if looking.records is None else table.rows
    found.whole = looking.records is None or table.rows == rows
    found.files = [FileFound(found.path, stored.size, found.records, found.damaged)]


def _raise_own(error: BaseException) -> None:
    """Errors of the store are no damage."""
    if isinstance(error, PenstockError):
        raise error


def _footer(tail: bytes, size: int) -> int:
    """Where the footer begins, if its length can be read; else where the last bytes do."""
    if len(tail) == 8 and tail[4:] == b"PAR1":
        return max(size - 8 - int.from_bytes(tail[:4], "little"), 0)
    return max(size - 8, 0)


def _describe(found: Finding, metadata: Any, groups: int) -> None:
    """How the first so many row groups are packed."""
    columns = [
        metadata.row_group(group).column(column)
        for group in range(min(groups, 1000))
        for column in range(metadata.num_columns)
    ]
    packings = sorted({one.compression for one in columns})
    found.details["compression"] = packings[0] if len(packings) == 1 else packings
    found.details["unpacked_bytes"] = sum(one.total_uncompressed_size for one in columns)


def _read(file: Any, group: int, table: Table, found: Finding, looking: Looking) -> None:
    for batch in file.iter_batches(batch_size=ROWS, row_groups=[group], use_threads=False):
        left = None if looking.records is None else looking.records - table.rows
        if left is not None and batch.num_rows > left:
            batch = batch.slice(0, left)
        table.add(batch)
        table.sample(batch, found, looking.samples)
        if left is not None and left <= batch.num_rows:
            return


def _blame(
    file: Any, group: int, found: Finding, source: _Source, footer: int, damage: Any, error: BaseException
) -> None:
    """Say which columns of a row group cannot be read, and where they begin."""
    before = found.damaged
    for name in file.schema_arrow.names:
        source.first = None
        try:
            for _ in file.iter_batches(ROWS, [group], columns=[name], use_threads=False):
                pass
        except damage as why:
            _raise_own(why)
            place = footer if source.first is None else source.first
            found.wrong(found.path, place, f"column {name!r} of row group {group} cannot be read: {why}")
    if found.damaged == before:
        found.wrong(found.path, footer, f"row group {group} cannot be read: {error}")
