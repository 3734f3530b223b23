"""Files of stores that fsspec opens: object stores, web servers and others, read by ranges."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from penstock.errors import StoreError
from penstock.graph.running import Context
from penstock.io.stores.calls import Calls
from penstock.io.stores.retry import Patience, retried
from penstock.io.stores.stored import Stored

if TYPE_CHECKING:
    from penstock.io.stores.ranges import Ranges

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*(://|::)")
HTTP = re.compile(r"https?://")
PACKAGES = {
    "abfs": "adlfs",
    "az": "adlfs",
    "gcs": "gcsfs",
    "gs": "gcsfs",
    "http": "aiohttp",
    "https": "aiohttp",
    "s3": "s3fs",
    "s3a": "s3fs",
    "sftp": "paramiko",
    "ssh": "paramiko",
}
"""What fsspec needs for an address, beside itself."""


def is_address(path: str) -> bool:
    """Whether `path` names a file of a store, and not one of this machine.

    >>> [is_address(path) for path in ("s3://bucket/a.tfrecord", "zip://a::s3://b/c.zip", "data/a.tfrecord")]
    [True, True, False]
    """
    return ADDRESS.match(path) is not None


def filesystem(path: str) -> tuple[Any, str]:
    """fsspec's filesystem for an address, and the name of the file in it.

    What it needs to know (keys, an endpoint) it takes from where fsspec does: its configuration, or the
    environment.
    """
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]
    except ImportError as error:
        raise StoreError(
            f"{path}: to read and write files of stores, install fsspec: "
            f"pip install fsspec, or pip install '.[remote]' in Penstock's clone.",
            file=path,
        ) from error
    scheme = re.split("://|::", path)[0].lower()
    try:
        fs, name = url_to_fs(path)
    except ImportError as error:
        package = PACKAGES.get(scheme)
        what = f"install the package {package}: pip install {package}" if package else str(error).rstrip(".")
        raise StoreError(
            f"{path}: to read and write addresses with {scheme}://, {what}.", file=path
        ) from error
    except ValueError as error:
        raise StoreError(
            f"{path}: expected an address that fsspec knows, but it says: {error}. Check how it begins.",
            file=path,
        ) from error
    return fs, name


def calls_for(path: str, context: Context | None) -> Calls:
    """The calls for an address; with a `context`, the end of its run ends them."""
    calls = Calls(path)
    if context is not None:
        calls.ended_by(context.on_close(calls.end))
    return calls


class RemoteFile(Stored):
    """A file of a store: every read is a range, tried again where the store fails for a moment."""

    def __init__(self, path: str, calls: Calls | None = None, patience: Patience | None = None) -> None:
        self.path = path
        self._calls = Calls(path) if calls is None else calls
        self._patience = patience or Patience()
        self._ranges = ranges_of(path, self._calls, self._patience)
        self.slow, self.beside = self._ranges.interruptible, self._ranges.beside
        looked = retried(
            self._ranges.look, expected="a file", file=path, patience=self._patience, pause=self._calls.pause
        )
        self.size, self.stamp = looked.size, looked.stamp

    def read_into(self, start: int, out: memoryview) -> int:
        end = max(start, min(start + len(out), self.size))
        at = start
        while at < end:
            self._calls.check()
            at += self._read_some(at, out[at - start : end - start])
        return end - start

    def _read_some(self, at: int, out: memoryview) -> int:
        return retried(
            lambda: self._ranges.fill(at, out),
            expected=f"the {len(out)} bytes from there on",
            file=self.path,
            offset=at,
            patience=self._patience,
            pause=self._calls.pause,
        )

    def interrupt(self) -> None:
        self._calls.end()

    def close(self) -> None:
        self._calls.close()


def ranges_of(path: str, calls: Calls, patience: Patience) -> Ranges:
    """What reads the file at an address."""
    from penstock.io.stores.ranges import AsyncRanges, PlainRanges

    fs, name = filesystem(path)
    if HTTP.match(path):
        from penstock.io.stores.http import HttpRanges

        return HttpRanges(fs, name, path, calls, patience)
    if fs.async_impl:
        return AsyncRanges(fs, name, path, calls, patience)
    return PlainRanges(fs, name, path)
