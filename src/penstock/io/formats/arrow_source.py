"""Stored files for pyarrow."""

from __future__ import annotations

import os
from typing import Any

from penstock.graph.running import Context
from penstock.io.formats.optional import optional
from penstock.io.formats.stored_source import StoredSource
from penstock.io.stores.local import LocalFile
from penstock.io.stores.opening import open_stored


def open_source(path: str, context: Context) -> Any:
    """The file at `path` for pyarrow, which reads files of this machine by itself, on several threads."""
    stored = open_stored(path, context)
    if not isinstance(stored, LocalFile):
        return optional("pyarrow", "parquet").PythonFile(StoredSource(stored, owns=True), mode="r")
    stored.close()
    return optional("pyarrow", "parquet").OSFile(os.fsencode(stored.path), mode="r")
