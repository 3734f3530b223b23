"""Opening a stored file by its path or address."""

from __future__ import annotations

import os

from penstock.graph.running import Context
from penstock.io.stores.local import LocalFile
from penstock.io.stores.remote import RemoteFile, calls_for, is_address
from penstock.io.stores.stored import Stored

FILE = "file://"


def is_local(path: str) -> bool:
    """Whether `path` names a file of this machine, also where it is written as an address.

    >>> [is_local(path) for path in ("data/a.tfrecord", "file:///data/a.tfrecord", "s3://bucket/a.tfrecord")]
    [True, True, False]
    """
    return not is_address(path) or path.lower().startswith(FILE)


def open_stored(path: str, context: Context | None = None) -> Stored:
    """The file at `path`, on this machine or in a store. `StoreError` if it cannot be opened.

    With a `context`, no wait for a store outlives the run.
    """
    path = os.fspath(path)
    if not is_address(path):
        return LocalFile(path)
    if path.lower().startswith(FILE):
        return LocalFile(path[len(FILE) :])
    calls = calls_for(path, context)
    try:
        return RemoteFile(path, calls)
    except BaseException:
        calls.close()
        raise
