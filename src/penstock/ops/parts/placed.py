"""What a store says of a file, with the op that reads it and the user's line."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import StoreError
from penstock.graph.running import Context

LISTED = " For the files of a folder, or of a pattern, use ps.Dataset.list_files."


@contextmanager
def placed(context: Context, missing: str = LISTED) -> Iterator[None]:
    """Errors of stores in here name the op and the user's line; `missing` is said where there is no file."""
    try:
        yield
    except StoreError as error:
        if str(error).startswith(context.where):
            raise
        hint = missing if error.errno in (errno.ENOENT, errno.EISDIR) else ""
        raise error.at(context.where, hint) from error.__cause__
