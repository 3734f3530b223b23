"""The files that a pipeline reads: what is kept of them, to notice later that they have changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from hashlib import blake2b

from penstock.graph.op import Op
from penstock.io.stores.local import stamp_of
from penstock.io.stores.opening import FILE, is_local

MOST = 10_000
"""So many files are kept by their names; those after them only as a whole."""
REST = f"one of the files after the first {MOST:,}"

Watched = dict[str, str]
"""The stamp of each file or folder; an empty one for what was not there."""


def watched(op: Op) -> Watched:
    """The files of this machine that the ops of a pipeline name, with their stamps: a look at each, no read.

    Files of stores are left out, as each would cost a request. Names that are computed, as elements of a
    dataset or by a function of the user's, are not known here; those that `list_files` finds are.
    """
    found: Watched = {}
    rest, there = blake2b(digest_size=16), 0
    for path in paths_of(op):
        if len(found) < MOST or path in found:
            found[path] = _stamp(path)
        else:
            stamp = _stamp(path)
            rest.update(_bytes(path, stamp))
            there += stamp != ""
            found[REST] = f"{there}-{rest.hexdigest()}" if there else ""
    return found


def change(before: Watched, now: Watched) -> str:
    """What is not as it was before, in words; nothing where all is.

    A file that was missing before has given nothing yet. Where none is left, nothing newer can be had.
    """
    if not before or not any(now.values()):
        return ""
    for path, stamp in before.items():
        if stamp and now.get(path, "") != stamp:
            return f"{path} {'has changed' if now.get(path) else 'is gone'} since"
    for path in now:
        if path not in before:
            return f"{path} has been added since"
    return ""


def present(now: Watched) -> Watched:
    """The files that are there."""
    return {path: stamp for path, stamp in now.items() if stamp}


def paths_of(op: Op) -> Iterator[str]:
    """All files and folders of this machine that the ops of a pipeline name."""
    return _paths(op, set())


def _paths(op: Op, seen: set[int]) -> Iterator[str]:
    if id(op) in seen:
        return
    seen.add(id(op))
    for above in op.inputs:
        yield from _paths(above, seen)
    for path in op.sources():
        if is_local(path):
            yield path[len(FILE) :] if path.lower().startswith(FILE) else path


def _stamp(path: str) -> str:
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path for each of many files takes longer than the look
        return _of_folder(path) if stat.S_ISDIR(status.st_mode) else stamp_of(status)
    except (OSError, ValueError):
        return ""  # the run says so, if it needs the file


def _bytes(path: str, stamp: str) -> bytes:
    return f"{path}\0{stamp}\0".encode(errors="surrogatepass")  # a name need not be text


def _of_folder(folder: str) -> str:
    """Another one when any file in it, or in a folder of it, is another one. Keeps no list of them."""
    total, count, waiting = 0, 0, [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for one in entries:
                if one.is_dir(follow_symlinks=False):
                    waiting.append(one.path)
                    continue
                try:
                    stamp = stamp_of(one.stat())
                except OSError:
                    stamp = ""
                said = blake2b(_bytes(one.path, stamp), digest_size=16)
                total += int.from_bytes(said.digest(), "little")  # in whatever order they come
                count += 1
    return f"{count}-{total % (1 << 128):032x}"
