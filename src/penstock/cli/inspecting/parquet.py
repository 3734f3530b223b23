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

ROWS = 4096
"""So many rows are read at a time."""
BUFFER = 64 << 10


def inspect(path: str, kind: Kind, looking: Looking) -> Finding:
    """What is in a Parquet file."""
    arrow, parquet = optional("pyarrow", "parquet"), optional("pyarrow.parquet", "parquet")
    found = Finding(path, "Parquet", unit="row", compression=kind.compression)
    stored = open_file(path, looking.progress)
    damage = (arrow.ArrowException, OSError, UnicodeDecodeError)
    try:
        source = arrow.PythonFile(StoredSource(stored), mode="r")
        try:
            file = parquet.ParquetFile(
                source, buffer_size=BUFFER, pre_buffer=False, page_checksum_verification=True
            )
            table = Table(file.schema_arrow)
            _describe(found, file.metadata)
        except damage as error:
            _raise_own(error)
            offset = _footer(stored.read(max(stored.size - 8, 0), 8), stored.size)
            found.wrong(path, offset, f"the footer, which says where everything is, is damaged: {error}")
            found.files = [FileFound(path, stored.size, None, 1)]
            return found
        for group in range(file.metadata.num_row_groups):
            if looking.records is not None and table.rows >= looking.records:
                found.whole = False
                break
            try:
                _read(file, group, table, found, looking)
            except damage as error:
                _raise_own(error)
                _blame(file, group, found, path, damage, error)
        table.finish(found)
        found.records = file.metadata.num_rows if looking.records is None else table.rows
        found.whole = found.whole and (looking.records is None or table.rows == file.metadata.num_rows)
        found.files = [FileFound(path, stored.size, file.metadata.num_rows, found.damaged)]
        return found
    finally:
        stored.close()


def _raise_own(error: BaseException) -> None:
    """Errors of the store are no damage."""
    if isinstance(error, PenstockError):
        raise error


def _footer(tail: bytes, size: int) -> int:
    """Where the footer begins, if its length can be read; else where the last bytes do."""
    if len(tail) == 8 and tail[4:] == b"PAR1":
        return max(size - 8 - int.from_bytes(tail[:4], "little"), 0)
    return max(size - 8, 0)


def _describe(found: Finding, metadata: Any) -> None:
    columns = [
        metadata.row_group(group).column(column)
        for group in range(min(metadata.num_row_groups, 1000))
        for column in range(metadata.num_columns)
    ]
    packings = sorted({one.compression for one in columns})
    found.details["row_groups"] = metadata.num_row_groups
    found.details["compression"] = packings[0] if len(packings) == 1 else packings
    found.details["unpacked_bytes"] = sum(one.total_uncompressed_size for one in columns)
    found.details["written_by"] = metadata.created_by or "unknown"


def _read(file: Any, group: int, table: Table, found: Finding, looking: Looking) -> None:
    for batch in file.iter_batches(batch_size=ROWS, row_groups=[group], use_threads=False):
        left = None if looking.records is None else looking.records - table.rows
        if left is not None and batch.num_rows > left:
            batch = batch.slice(0, left)
        table.add(batch)
        table.sample(batch, found, looking.samples)
        if left is not None and left <= batch.num_rows:
            return


def _blame(file: Any, group: int, found: Finding, path: str, damage: Any, error: BaseException) -> None:
    """Say which columns of a row group cannot be read."""
    metadata, blamed = file.metadata.row_group(group), 0
    for number in range(metadata.num_columns):
        chunk = metadata.column(number)
        begins = [one for one in (chunk.dictionary_page_offset, chunk.data_page_offset) if one]
        try:
            for _ in file.iter_batches(ROWS, [group], columns=[chunk.path_in_schema], use_threads=False):
                pass
        except damage as why:
            _raise_own(why)
            blamed += 1
            what = f"column {chunk.path_in_schema!r} of row group {group} cannot be read: {why}"
            found.wrong(path, min(begins, default=0), what)
    if not blamed:
        found.wrong(
            path, int(metadata.column(0).data_page_offset), f"row group {group} cannot be read: {error}"
        )
