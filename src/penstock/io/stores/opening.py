"""Opening a stored file by its path or address."""

from __future__ import annotations

import os

from penstock.io.stores.local import LocalFile
from penstock.io.stores.stored import Stored


def open_stored(path: str) -> Stored:
    """The file at `path`, on this machine or in a store. `StoreError` if it cannot be opened."""
    return LocalFile(os.fspath(path))
