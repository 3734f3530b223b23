"""The files that a pattern matches."""

from __future__ import annotations

import glob

from penstock.graph.running import Context
from penstock.io.stores.opening import FILE
from penstock.io.stores.remote import calls_for, is_address
from penstock.io.stores.remote_listing import list_remote

INDEX_SUFFIX = ".penstock-index"
"""What the names of indexes end in, which lie beside data and are none."""


def list_paths(pattern: str, context: Context | None = None) -> list[str]:
    """The paths that a glob pattern matches, sorted; none where nothing does.

    The names of an address are addresses. With a `context`, no wait for a store outlives the run.

    `*`, `?` and `[...]` match within a name, `**` also across folders. As in a shell, what begins with a
    dot is matched by a dot alone. The indexes that are kept beside files are never among them.
    """
    return [path for path in _matches(pattern, context) if not path.endswith(INDEX_SUFFIX)]


def _matches(pattern: str, context: Context | None) -> list[str]:
    if not is_address(pattern):
        return _local(pattern)
    if pattern.lower().startswith(FILE):
        return [pattern[: len(FILE)] + path for path in _local(pattern[len(FILE) :])]
    calls = calls_for(pattern, context)
    try:
        return list_remote(pattern, calls)
    finally:
        calls.close()


def _local(pattern: str) -> list[str]:
    return sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - a Path would not keep "./a" as it is
