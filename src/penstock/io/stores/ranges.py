"""How one address is read by ranges: what each kind of store needs, before anything is tried again."""

from __future__ import annotations

import asyncio
import errno
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from penstock.errors import StoreError
from penstock.io.stores.calls import Calls
from penstock.io.stores.retry import Patience, ShortRead

PIECE = 1 << 20
"""So many bytes are asked for at a time where they come as one object, and not into the reader's buffer."""
VERSIONS = (
    "ETag",
    "etag",
    "generation",
    "VersionId",
    "md5Hash",
    "LastModified",
    "updated",
    "mtime",
    "modified",
)
"""What stores call that which changes with a file."""


@dataclass(frozen=True)
class Look:
    """What a store says of a file."""

    size: int
    stamp: str


class Ranges(ABC):
    """Ranges of one file of a store; every call is one try."""

    beside: int = 2 * PIECE
    """What a read holds while it lasts, beside what it fills: an object, and the parts it is joined of."""
    interruptible: bool = True
    """Whether a call that waits ends when `Calls` are ended."""

    @abstractmethod
    def look(self) -> Look:
        """The size and the stamp of the file."""

    @abstractmethod
    def fill(self, start: int, out: memoryview) -> int:
        """Fill the front of `out`, which ends within the file; how many bytes came, at least one."""


class AsyncRanges(Ranges):
    """A file of an asynchronous filesystem of fsspec: S3, Google Cloud Storage, Azure and others."""

    def __init__(self, fs: Any, name: str, path: str, calls: Calls, patience: Patience) -> None:
        self._fs, self._name, self._path = fs, name, path
        self._calls = calls
        self._total = patience.total

    def look(self) -> Look:
        self._fs.invalidate_cache(self._name)  # a listing from before may be out of date
        return look_at(self._calls.run(self._fs.loop, self._info), self._path)

    async def _info(self) -> Mapping[str, Any]:
        async with asyncio.timeout(self._total):
            info: Mapping[str, Any] = await self._fs._info(self._name)
            return info

    def fill(self, start: int, out: memoryview) -> int:
        size = min(len(out), PIECE)

        async def read() -> bytes:
            async with asyncio.timeout(self._total):
                data: bytes = await self._fs._cat_file(self._name, start=start, end=start + size)
                return data

        return put(self._calls.run(self._fs.loop, read), out, size, self._path, start)


class PlainRanges(Ranges):
    """A file of another filesystem of fsspec: one call at a time, and none can be ended from outside."""

    interruptible = False

    def __init__(self, fs: Any, name: str, path: str) -> None:
        self._fs, self._name, self._path = fs, name, path
        self._turn = threading.Lock()

    def look(self) -> Look:
        with self._turn:
            info = dict(self._fs.info(self._name))
            if info.get("type") != "directory" and not any(info.get(name) for name in VERSIONS):
                with suppress(NotImplementedError):
                    info["modified"] = self._fs.modified(self._name)
        return look_at(info, self._path)

    def fill(self, start: int, out: memoryview) -> int:
        size = min(len(out), PIECE)
        with self._turn:
            data = self._fs.cat_file(self._name, start=start, end=start + size)
        return put(data, out, size, self._path, start)


def look_at(info: Mapping[str, Any], path: str) -> Look:
    """What fsspec's `info` says. `StoreError` if that is no file, or has no known size."""
    if info.get("type") == "directory":
        made = StoreError(f"{path}: expected a file, but it is a folder. Name the files in it.", file=path)
        made.errno = errno.EISDIR
        raise made
    size = info.get("size")
    if size is None:
        raise StoreError(
            f"{path}: expected a file of known size, but the store does not say it. Copy it to this machine.",
            file=path,
        )
    return Look(int(size), "-".join([str(size), *(str(info[name]) for name in VERSIONS if info.get(name))]))


def put(data: bytes, out: memoryview, size: int, path: str, start: int) -> int:
    """Put into `out` what came for `size` bytes."""
    if len(data) > size:
        raise no_ranges(path, start, f"{len(data)} bytes came where {size} were asked for")
    if not data:
        raise ShortRead("none came")
    out[: len(data)] = data
    return len(data)


def no_ranges(path: str, start: int, why: str) -> StoreError:
    """The error where a store gives files as a whole only."""
    return StoreError(
        f"{path} at byte {start}: expected a range of the file, but the server gives it as a whole only "
        f"({why}). Copy the file to this machine, or use a server that gives ranges.",
        file=path,
        offset=start,
    )
