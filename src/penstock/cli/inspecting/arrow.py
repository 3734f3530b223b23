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

MAGIC = b"ARROW1"
HEAD = 8
"""A file is a stream between this many bytes and a footer."""


class _Batches:
    """The batches of one file, as far as they can be read."""

    def __init__(self, source: StoredSource, found: Finding) -> None:
        self._arrow = optional("pyarrow", "parquet")
        self._ipc = optional("pyarrow.ipc", "parquet")
        self._source = source
        self._found = found
        self.table: Table | None = None
        self.number = 0
        self.damage = (self._arrow.ArrowException, OSError, UnicodeDecodeError)
        self.is_file = source.read(len(MAGIC)) == MAGIC
        self._from_footer = self.is_file

    def _open(self, start: int) -> Any:
        self._source.seek(start)
        opened = self._arrow.PythonFile(self._source, mode="r")
        if not self._from_footer:
            return self._ipc.open_stream(opened)
        try:
            return self._ipc.open_file(opened)
        except self.damage as error:
            raise_own(error)
            # Without the footer, the batches can still be found one after another.
            size = self._source.seek(0, 2)
            self._found.wrong(self._found.path, size, f"the footer at the end is damaged or cut off: {error}")
            self._from_footer = False
            return self._open(HEAD)

    def __iter__(self) -> Iterator[Any]:
        reader = self._open(0)
        self.table = Table(reader.schema)
        if not self._from_footer:
            for batch in reader:
                self.number += 1
                yield batch
            return
        for number in range(reader.num_record_batches):
            self.number = number + 1
            yield reader.get_batch(number)


def raise_own(error: BaseException) -> None:
    """Errors of the store are no damage."""
    if isinstance(error, PenstockError):
        raise error


def inspect(path: str, kind: Kind, looking: Looking) -> Finding:
    """What is in an Arrow file or stream."""
    found = Finding(path, "Arrow", unit="row", compression=kind.compression)
    stored = open_file(path, looking.progress)
    source = StoredSource(stored)
    batches = _Batches(source, found)
    try:
        for batch in batches:
            table = batches.table
            assert table is not None
            if looking.records is not None and table.rows >= looking.records:
                found.whole = False
                break
            batch.validate(full=True)
            left = batch.num_rows if looking.records is None else looking.records - table.rows
            found.whole = found.whole and left >= batch.num_rows
            table.add(batch.slice(0, left))
            table.sample(batch, found, looking.samples)
    except batches.damage as error:
        raise_own(error)
        if batches.table is None:
            found.wrong(path, 0, f"what comes first is no schema of a table: {error}")
        else:
            what = f"the batch after {batches.table.rows:,} rows cannot be read: {error}"
            found.wrong(path, source.tell(), f"{what} (the offset is how far the file was read)")
    finally:
        stored.close()
    if batches.table is not None:
        batches.table.finish(found)
        found.records = batches.table.rows
    found.details["kind"] = "file" if batches.is_file else "stream"
    found.details["batches"] = batches.number
    found.files = [FileFound(path, stored.size, found.records, found.damaged)]
    return found
