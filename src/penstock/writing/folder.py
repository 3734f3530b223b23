"""The folder of a data set: one writer at a time, and what an earlier one has left."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from penstock.errors import ArgumentError, ArgumentTypeError, StoreError
from penstock.io.stores.remote import is_address
from penstock.kernels.crc32c_after import crc32c_after
from penstock.site import user_site
from penstock.writing.layout import FILES
from penstock.writing.manifest import NAME, Shard

READ = 1 << 20
"""So many bytes of a file are read at a time to sum them up."""


def folder_of(directory: Any) -> Path:
    """The folder that the user named."""
    if not isinstance(directory, str | bytes | os.PathLike) or not os.fspath(directory):
        raise ArgumentTypeError(
            f"write_tfrecord(directory=) at {user_site()}: expected the path of a folder, got {directory!r}."
        )
    name = os.fsdecode(directory)
    if is_address(name):
        raise ArgumentError(
            f"write_tfrecord(directory=) at {user_site()}: expected a folder of this machine, got {name!r}. "
            f"Write it here, and copy it there."
        )
    return Path(name)


@contextmanager
def writing_in(folder: Path) -> Iterator[None]:
    """The only writer of a folder, which is made where there is none. The lock dies with the process."""
    import fcntl  # there is none on Windows

    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        if folder.exists() and not folder.is_dir():
            raise StoreError(
                f"{folder}: expected the path of a folder to write to, got a file. "
                f"Give the name of a folder, which is made where there is none.",
                file=str(folder),
            ) from None
        raise StoreError.of(error, str(folder)) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == errno.EWOULDBLOCK:
                raise StoreError(
                    f"{folder}: expected to be the only one who writes there, but somebody else is at it. "
                    f"Wait for the other one, or write elsewhere.",
                    file=str(folder),
                ) from None
            # A file system without locks: then nobody can be kept away.
        yield
    finally:
        os.close(handle)


def shards_in(folder: Path) -> list[Path]:
    """The files there that are called as shards are."""
    return sorted(path for path in folder.iterdir() if FILES.fullmatch(path.name))


def check_not_read(doomed: Iterable[Path], sources: Iterable[str], call: str) -> None:
    """`ArgumentError` where a pipeline reads files that are to be removed before it runs."""
    files = {_identity(path) for path in doomed} - {None}
    for path in sources if files else ():
        if _identity(path) in files:
            raise ArgumentError(
                f"{call}: expected a folder that the dataset does not read from, but it reads {path}, which "
                f"overwrite=True removes first. Write elsewhere, and put that in the place of this one."
            )


def _identity(path: str | Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - of many files
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def remove_leftovers(folder: Path, kept: set[str]) -> None:
    """Remove the shards that are not to be kept, and what a writer that was killed has not completed."""
    try:
        for path in list(folder.iterdir()):
            if FILES.fullmatch(path.name):
                if path.name not in kept:
                    path.unlink()
            elif _is_part(path.name):
                path.unlink()
    except OSError as error:
        raise StoreError.of(error, str(folder)) from error


def _is_part(name: str) -> bool:
    if not (name.startswith(".") and name.endswith(".part")):
        return False
    whole = name[1:].rsplit(".", 2)[0]
    return whole == NAME or FILES.fullmatch(whole) is not None


def is_whole(folder: Path, shard: Shard) -> bool:
    """Whether a file is what the manifest says, to the last byte."""
    crc, buffer = 0, np.empty(READ, np.uint8)
    try:
        with (folder / shard.name).open("rb", buffering=0) as file:
            if os.fstat(file.fileno()).st_size != shard.bytes:
                return False
            while count := file.readinto(buffer.data):
                crc = crc32c_after(crc, buffer[:count])
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError.of(error, str(folder / shard.name)) from error
    return f"{crc:08x}" == shard.crc32c
