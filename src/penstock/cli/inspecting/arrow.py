"""Arrow's own files and streams: the schema, and every batch read and checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.cli.inspecting.findings import FileFound, Finding
from penstock.cli.inspecting.looking import Looking, open_file
from penstock.cli.inspecting.recognise import Kind
from penstock.cli.inspecting.tables import Table
from penstock.errors import PenstockError
from penstock.io.formats.optional import optional
from penstock.io.formats.stored_source import StoredSource


def inspect(path: str, kind: Kind, looking: Looking) -> Finding:
    """What is in an Arrow file or stream."""
    arrow, ipc = optional("pyarrow", "parquet"), optional("pyarrow.ipc", "parquet")
    found = Finding(path, "Arrow", unit="row", compression=kind.compression)
    stored = open_file(path, looking.progress)
    damage = (arrow.ArrowException, OSError)
    source = StoredSource(stored)
    is_file = stored.read(0, 6) == b"ARROW1"
    number, batches = 0, 0
    table: Table | None = None
    try:
        opened = arrow.PythonFile(source, mode="r")
        reader = ipc.open_file(opened) if is_file else ipc.open_stream(opened)
        table = Table(reader.schema)
        batches = reader.num_record_batches if is_file else 0
        for number, batch in enumerate(_batches(reader, is_file)):  # noqa: B007
            batch.validate(full=True)
            left = None if looking.records is None else looking.records - table.rows
            table.add(batch if left is None else batch.slice(0, left))
            table.sample(batch, found, looking.samples)
            if left is not None and left <= batch.num_rows:
                found.whole = left == batch.num_rows and is_file and number + 1 == batches
                break
    except damage as error:
        if isinstance(error, PenstockError):
            raise
        what = "what comes first is no schema" if table is None else f"batch {number + (table.rows > 0)} is damaged"
        found.wrong(path, source.tell(), f"{what}: {error}; it was found when the file was read up to there")
    finally:
        stored.close()
    if table is not None:
        table.finish(found)
        found.records = table.rows
    found.details["kind"] = "file" if is_file else "stream"
    found.details["batches"] = batches or number + 1
    found.files = [FileFound(path, stored.size, found.records, found.damaged)]
    return found


def _batches(reader: Any, is_file: bool) -> Iterator[Any]:
    if is_file:
        yield from (reader.get_batch(number) for number in range(reader.num_record_batches))
    else:
        yield from reader
