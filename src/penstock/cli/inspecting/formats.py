"""Which module looks at which format; each is loaded when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from penstock.cli.inspecting.findings import Finding
from penstock.cli.inspecting.looking import Looking
from penstock.cli.inspecting.recognise import Kind

MODULES = {
    "Parquet": "parquet",
    "Arrow": "arrow",
    "text": "lines",
    "JSON lines": "json_lines",
    "CSV": "csv_rows",
    "NumPy": "arrays",
    "ArrayRecord": "array_records",
    "tar": "archive",
    "picture": "pictures",
    "saved blocks": "saved",
}

Inspector = Callable[[str, Kind, Looking], Finding]


def inspector_of(name: str) -> Inspector | None:
    """The function that looks at files of a format; None where there is none."""
    module = MODULES.get(name)
    if module is None:
        return None
    found: Inspector = import_module(f"penstock.cli.inspecting.{module}").inspect
    return found
