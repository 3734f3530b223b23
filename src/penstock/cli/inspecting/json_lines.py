"""JSON lines: the keys of the objects, their types, and lines that are no JSON."""

from __future__ import annotations

import json
from typing import Any

from penstock.cli.inspecting.findings import Finding
from penstock.cli.inspecting.lines import Lines
from penstock.cli.inspecting.looking import Looking, open_bytes
from penstock.cli.inspecting.recognise import Kind
from penstock.cli.inspecting.typed import Typed
from penstock.cli.inspecting.values import show

NAMES = 1000
"""So many keys are told apart."""


def inspect(path: str, kind: Kind, looking: Looking) -> Finding:
    """What is in a file of JSON lines."""
    found = Finding(path, "JSON lines", compression=kind.compression)
    stream = open_bytes(path, kind.compression, looking.progress)
    columns: dict[str, Typed] = {}
    records = 0
    try:
        lines = Lines(stream, found)
        for number, (offset, line) in enumerate(lines):
            if looking.records is not None and records >= looking.records:
                found.whole = False
                break
            if not line.strip():
                continue
            records += 1
            try:
                value = json.loads(line.decode().removeprefix("\ufeff"))
            except (ValueError, RecursionError) as error:
                _damaged(found, offset, number, line, error)
                continue
            _add(columns, value)
            if len(found.samples) < looking.samples:
                found.samples.append(_sample(value))
        lines.finish(stream.stored.size, records)
    finally:
        stream.close()
    found.columns = [column.column() for column in columns.values()]
    return found


def _damaged(found: Finding, offset: int, number: int, line: bytes, error: Exception) -> None:
    at, why = 0, str(error)
    if isinstance(error, UnicodeDecodeError):
        at, why = error.start, f"not UTF-8: {line[error.start : error.end]!r}"
    elif isinstance(error, json.JSONDecodeError):
        at, why = (
            len(line.decode()[: error.pos].encode()),
            f"{error.msg.removesuffix(' at')} at its byte {error.pos}",
        )
    found.wrong(found.path, offset + at, f"line {number + 1} is no JSON: {why}")


def _add(columns: dict[str, Typed], value: Any) -> None:
    for name, one in value.items() if isinstance(value, dict) else [("(value)", value)]:
        if name not in columns:
            if len(columns) >= NAMES:
                continue
            columns[name] = Typed(name)
        columns[name].add(one)


def _sample(value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {name: show(one) for name, one in value.items()}
    return {"value": show(value)}
