"""CSV files: the columns, their types, and rows that have another number of fields."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from penstock.cli.inspecting.findings import Finding
from penstock.cli.inspecting.lines import Lines
from penstock.cli.inspecting.looking import Looking, open_bytes
from penstock.cli.inspecting.recognise import Kind
from penstock.cli.inspecting.typed import Typed, value_of
from penstock.cli.inspecting.values import show

DELIMITERS = ",\t;|"
BOM = "\ufeff"
"""What spreadsheets write at the beginning: no part of the first name."""
LARGEST = 16 << 20
"""A larger field is taken for damage, as a quote without its other one is: it must not fill the memory."""


class _Text:
    """Lines as text, and where the last ones begin; one that is not UTF-8 is noted, and escaped."""

    def __init__(self, lines: Lines, found: Finding) -> None:
        self._lines = lines
        self._found = found
        self.begins: int | None = None
        """Where the row that is being read begins."""

    def __iter__(self) -> Iterator[str]:
        for offset, line in self._lines:
            if self.begins is None:
                self.begins = offset
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                what = f"expected UTF-8, got {line[error.start : error.end]!r}"
                self._found.wrong(self._found.path, offset + error.start, what)
                text = line.decode(errors="backslashreplace")
            yield (text if offset else text.removeprefix(BOM)) + "\n"


def inspect(path: str, kind: Kind, looking: Looking) -> Finding:
    """What is in a CSV file."""
    found = Finding(path, "CSV", unit="row", compression=kind.compression)
    before = csv.field_size_limit(LARGEST)
    stream = open_bytes(path, kind.compression, looking.progress)
    try:
        lines = Lines(stream, found)
        text = iter_text = _Text(lines, found)
        first, rest = _peek(iter(iter_text))
        delimiter = _delimiter(first)
        found.details["delimiter"] = {"\t": "tab"}.get(delimiter, delimiter)
        records, columns = _rows(found, text, rest, delimiter, looking)
        lines.finish(stream.stored.size, records)
    finally:
        csv.field_size_limit(before)
        stream.close()
    found.columns = [column.column() for column in columns]
    found.record_bytes = None  # that of lines, and a row may have several
    return found


def _peek(lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    first = next(lines, "")

    def again() -> Iterator[str]:
        if first:
            yield first
        yield from lines

    return first, again()


def _delimiter(line: str) -> str:
    return max(DELIMITERS, key=line.count) if any(one in line for one in DELIMITERS) else ","


def _rows(
    found: Finding, text: _Text, lines: Iterator[str], delimiter: str, looking: Looking
) -> tuple[int, list[Typed]]:
    columns: list[Typed] = []
    records = 0
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            found.wrong(found.path, text.begins or 0, f"a row that cannot be read: {error}", records)
            text.begins = None
            records += 1
            continue
        begins, text.begins = text.begins or 0, None
        if row is None:
            return records, columns
        if not row:
            continue
        if not columns:
            header = _is_header(row)
            found.details["header"] = header
            columns = [Typed(name if header else f"column {i}") for i, name in enumerate(row)]
            if header:
                continue
        if looking.records is not None and records >= looking.records:
            found.whole = False
            return records, columns
        records += 1
        if len(row) != len(columns):
            what = f"expected {len(columns)} fields, got {len(row)}: {show(delimiter.join(row))}"
            found.wrong(found.path, begins, what, records - 1)
            continue
        for column, field in zip(columns, row, strict=True):
            column.add(value_of(field))
        if len(found.samples) < looking.samples:
            found.samples.append(
                {column.name: show(value_of(field)) for column, field in zip(columns, row, strict=True)}
            )


def _is_header(row: list[str]) -> bool:
    """Whether a first row has names: all of them text, and no two the same."""
    return all(isinstance(value_of(one), str) for one in row) and len(set(row)) == len(row)
