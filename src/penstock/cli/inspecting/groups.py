"""Files and folders as the user names them: which files those are, and which belong together."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from penstock.cli.inspecting.findings import FileFound, Finding
from penstock.cli.inspecting.looking import Looking, plural
from penstock.cli.inspecting.recognise import Kind, recognise
from penstock.cli.inspecting.tfrecord import TFRecords
from penstock.errors import PenstockError, StoreError
from penstock.io.stores.listing import INDEX_SUFFIX, list_paths
from penstock.io.stores.opening import open_stored
from penstock.io.stores.remote import is_address

SIDE = (INDEX_SUFFIX, ".crc", ".md5", ".sha256")
"""What the names of files end in that stand beside data."""


def inspect_paths(paths: list[str], looking: Looking) -> Iterator[Finding]:
    """What is in these files and folders, those of one kind together."""
    from penstock.cli.inspecting.folders import inspect_folder

    loose: list[str] = []
    for path in paths:
        if not is_address(path) and os.path.isdir(path):  # noqa: PTH112
            found = inspect_folder(path, looking)
            yield from (
                inspect_files(sorted(files_in(path)), path, looking, named=False) if found is None else found
            )
        else:
            loose.append(path)
    if loose:
        files = [file for path in loose for file in named_by(path)]
        title = loose[0] if len(files) == 1 else plural(len(files), "file")
        yield from inspect_files(files, title, looking, named=True)


def named_by(path: str) -> list[str]:
    """The files of a path: itself, those of a pattern, or those in a folder of a store."""
    if is_address(path):
        if glob.has_magic(path):
            return list_paths(path) or [path]
        if path.endswith("/"):
            return list_paths(path + "*") or [path]
    elif glob.has_magic(path) and not os.path.exists(path):  # noqa: PTH110
        return list_paths(path) or [path]
    return [path]


def files_in(folder: str) -> Iterator[str]:
    """The files of a folder and of the folders in it, without what is hidden or stands beside them."""
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith((".", "_")))
        for name in names:
            if not name.startswith((".", "_")) and not name.endswith(SIDE):
                yield str(Path(top, name))


def inspect_files(files: list[str], path: str, looking: Looking, *, named: bool) -> Iterator[Finding]:
    """What is in these files, those of one kind together, in the order in which the kinds come.

    `named`: the user has named them. Those that are just there may be of other kinds.
    """
    if not files:
        yield Finding(path, "folder", error="there are no files in it")
        return
    records: TFRecords | None = None
    found: list[Finding | TFRecords] = []
    for file in files:
        try:
            kind = recognise(file)
        except (PenstockError, ImportError) as error:
            found.append(unreadable(file, error))
            continue
        if kind.format == "TFRecord":
            if records is None:
                records = TFRecords(path, looking)
                found.append(records)
            try:
                records.add(file, kind.compression)
            except (PenstockError, ImportError) as error:
                found.append(unreadable(file, error, kind))
            continue
        one = inspect_file(file, kind, looking, named=named)
        last = next((two for two in found if isinstance(two, Finding) and two.belongs_with(one)), None)
        if last is None:
            found.append(one)
        else:
            last.add(one, looking.samples)
            last.path = path
    for part in found:
        if isinstance(part, Finding):
            yield part
        elif part.found.files:
            yield part.finding()


def inspect_file(path: str, kind: Kind, looking: Looking, *, named: bool = True) -> Finding:
    """What is in one file."""
    from penstock.cli.inspecting.formats import inspector_of

    inspector = inspector_of(kind.format)
    if inspector is None:
        with open_stored(path) as stored:
            size, head = stored.size, stored.read(0, 16)
        why = f"it is of no format that is known here; it begins with {head!r}" if size else "it is empty"
        files = [FileFound(path, size)]
        return Finding(path, "unknown", compression=kind.compression, files=files, error=why if named else "")
    try:
        return inspector(path, kind, looking)
    except (PenstockError, ImportError) as error:
        return unreadable(path, error, kind)


def unreadable(path: str, error: Exception, kind: Kind | None = None) -> Finding:
    """That a file cannot be read at all, and why."""
    why = str(error)
    if isinstance(error, StoreError) and error.errno == errno.ENOENT:
        why = "there is no such file or folder"
    found = Finding(path, kind.format if kind else "unknown", error=why)
    return replace(found, compression=kind.compression if kind else None)
