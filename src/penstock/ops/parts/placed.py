"""What a store says of a file, with the op that reads it and the user's line."""

from __future__ import annotations

import errno
from types import TracebackType

from penstock.errors import StoreError
from penstock.graph.running import Context

LISTED = " For the files of a folder, or of a pattern, use ps.Dataset.list_files."


class placed:  # noqa: N801
    """Errors of stores in here name the op and the user's line; `missing` is said where there is no file."""

    __slots__ = ("_context", "_missing")

    def __init__(self, context: Context, missing: str = LISTED) -> None:
        self._context = context
        self._missing = missing

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, StoreError) or str(error).startswith(self._context.where):
            return
        hint = self._missing if error.errno in (errno.ENOENT, errno.EISDIR) else ""
        raise error.at(self._context.where, hint) from error.__cause__
