"""The files of a store that a pattern matches.

fsspec's own `glob` leaves out what it fails to list. A file that is left out silently is data that is
lost silently, so folders are listed one by one here, and each listing is tried again or is an error.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from penstock.errors import StoreError
from penstock.io.stores.calls import Calls
from penstock.io.stores.remote import HTTP, RemoteFile, filesystem
from penstock.io.stores.retry import Patience, retried

MAGIC = re.compile(r"[*?\[]")
MAGIC_IN_HTTP = re.compile(r"[*\[]")
"""In an address of the web, a question mark is one."""
MISSING = {errno.ENOENT, errno.ENOTDIR}


@dataclass(frozen=True)
class Entry:
    """One name in a folder of a store."""

    path: str
    name: str
    folder: bool


def list_remote(pattern: str, calls: Calls, patience: Patience | None = None) -> list[str]:
    """The addresses of the files that match, sorted. Folders of a store are no files."""
    patience = patience or Patience()
    fs, inside = filesystem(pattern)
    magic = MAGIC_IN_HTTP if HTTP.match(pattern) else MAGIC
    parts = inside.split("/")
    fixed = next((k for k, part in enumerate(parts) if magic.search(part)), None)
    if fixed is None:
        return [pattern] if _is_file(pattern, calls, patience) else []
    before = pattern[: len(pattern) - len(inside)]
    found = _Folders(fs, before, calls, patience).find("/".join(parts[:fixed]), parts[fixed:])
    return sorted({before + entry.path for entry in found})


def _is_file(path: str, calls: Calls, patience: Patience) -> bool:
    try:
        RemoteFile(path, calls, patience)
    except StoreError as error:
        if error.errno in (errno.ENOENT, errno.EISDIR):
            return False
        raise
    return True


class _Folders:
    """The folders of a store, each listed once."""

    def __init__(self, fs: Any, before: str, calls: Calls, patience: Patience) -> None:
        self._fs = fs
        self._before = before
        self._calls = calls
        self._patience = patience
        self._known: dict[str, list[Entry]] = {}
        fs.invalidate_cache()  # what was listed before may be out of date

    def find(self, folder: str, parts: list[str]) -> Iterator[Entry]:
        """The files below `folder` that match, a part of the pattern a level."""
        part, rest = parts[0], parts[1:]
        if part == "**":
            yield from self.find(folder, rest or ["*"])
            for entry in self.entries(folder):
                if entry.folder and not entry.name.startswith("."):
                    yield from self.find(entry.path, parts)
            return
        for entry in self.entries(folder):
            hidden = entry.name.startswith(".") and not part.startswith(".")
            if hidden or not fnmatchcase(entry.name, part):
                continue
            if rest and entry.folder:
                yield from self.find(entry.path, rest)
            elif not rest and not entry.folder:
                yield entry

    def entries(self, folder: str) -> list[Entry]:
        """What is in a folder; nothing if there is none of that name."""
        if folder not in self._known:
            try:
                listed = retried(
                    lambda: self._list(folder),
                    expected="a list of files",
                    file=f"{self._before}{folder}",
                    patience=self._patience,
                    pause=self._calls.pause,
                )
            except StoreError as error:
                if error.errno not in MISSING:
                    raise
                listed = []
            self._known[folder] = list(_entries(folder, listed))
        return self._known[folder]

    def _list(self, folder: str) -> list[dict[str, Any]]:
        fs = self._fs
        if not fs.async_impl:
            plain: list[dict[str, Any]] = fs.ls(folder, detail=True)
            return plain

        async def listing() -> list[dict[str, Any]]:
            from asyncio import timeout

            async with timeout(self._patience.total):
                found: list[dict[str, Any]] = await fs._ls(folder, detail=True)
                return found

        return self._calls.run(fs.loop, listing)


def _entries(folder: str, listed: list[dict[str, Any]]) -> Iterator[Entry]:
    """What a store lists, without the folder itself and what is further down."""
    start = folder.rstrip("/") + "/" if folder else ""
    for info in listed:
        path = str(info["name"]).rstrip("/")
        name = path.removeprefix(start).lstrip("/") if path.startswith(start) else ""
        if name and "/" not in name:
            yield Entry(path, name, info["type"] == "directory")
