"""Writing a file so that others see it complete, or as it was before, and never a part of it."""

from __future__ import annotations

import errno
import io
import os
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from penstock.errors import StoreError
from penstock.io.stores.remote import filesystem, is_address

T = TypeVar("T")

BUFFER = 1 << 20
"""So many bytes are gathered before they are written."""
PART = 8 << 20
"""So many bytes make a part of an upload, and are held until it is sent; stores want at least 5 MiB."""
FILE = "file://"
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Writing(io.RawIOBase):
    """A binary file on its way: `commit` publishes it, `discard` leaves everything as it was.

    Left in a `with` statement without an error, it is committed, else discarded. So is one that is
    closed, or collected, without a commit.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self._written = 0
        self._over = False

    @abstractmethod
    def _append(self, data: Any) -> None: ...

    @abstractmethod
    def _publish(self) -> None: ...

    @abstractmethod
    def _forget(self) -> None: ...

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, data: Any) -> int:
        """Write all of `data`. `StoreError` if the store cannot take it: then nothing is published."""
        if self._over:
            raise ValueError(f"{self.path}: the file is committed or discarded already.")
        size = memoryview(data).nbytes
        self._do(lambda: self._append(data), "write")
        self._written += size
        return size

    def commit(self) -> None:
        """Publish the file under its name, in place of an older one. Once only."""
        if self._over:
            raise ValueError(f"{self.path}: the file is committed or discarded already.")
        self._do(self._publish, "publish")
        self._over = True
        super().close()

    def discard(self) -> None:
        """Drop what was written. May be called more than once."""
        if not self._over:
            self._over = True
            self._forget()
        super().close()

    def close(self) -> None:
        self.discard()

    def __enter__(self) -> Writing:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None and not self._over:
            self.commit()
        self.discard()

    def _do(self, action: Callable[[], T], word: str) -> T:
        try:
            return action()
        except OSError as error:
            self.discard()
            raise self._failed(error, word) from error
        except BaseException:
            self.discard()
            raise

    def _failed(self, error: OSError, word: str) -> StoreError:
        remedy = (
            "Make room there, or write elsewhere."
            if error.errno in FULL
            else "Check the place and its rights."
        )
        made = StoreError(
            f"{self.path} at byte {self._written}: expected to {word} the file, but the store says: "
            f"{error.strerror or error}. What was there before is as it was. {remedy}",
            file=self.path,
            offset=self._written,
        )
        made.errno = error.errno
        return made


class LocalWriting(Writing):
    """A file of this machine, under another name in the same folder until it is complete."""

    def __init__(self, path: str, place: str) -> None:
        super().__init__(path)
        self._place = Path(os.path.realpath(place))  # a link stays one
        self._part = self._place.with_name(f".{self._place.name}.{os.urandom(4).hex()}.part")
        self._gathered = bytearray()
        self._file: io.FileIO | None = None
        self._file = self._do(lambda: io.FileIO(self._part, "xb"), "begin")

    def _append(self, data: Any) -> None:
        view = memoryview(data).cast("B")
        if len(view) < BUFFER:
            self._gathered += view
        if len(self._gathered) >= BUFFER or len(view) >= BUFFER:
            self._flush()
        if len(view) >= BUFFER:
            self._write(view)

    def _flush(self) -> None:
        with memoryview(self._gathered) as view:
            self._write(view)
        self._gathered.clear()

    def _write(self, view: memoryview) -> None:
        assert self._file is not None
        done = 0
        while done < len(view):
            done += self._file.write(view[done:])

    def _publish(self) -> None:
        assert self._file is not None
        self._flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._part.replace(self._place)
        folder = os.open(self._place.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _forget(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            with suppress(OSError):
                self._part.unlink(missing_ok=True)


class UploadWriting(Writing):
    """An object of a store that shows an upload only when it is complete."""

    def __init__(self, path: str, fs: Any, name: str) -> None:
        super().__init__(path)
        self._file: Any = None
        self._file = self._do(lambda: fs.open(name, "wb", block_size=PART, autocommit=False), "begin")

    def _append(self, data: Any) -> None:
        self._file.write(data)

    def _publish(self) -> None:
        self._file.close()
        self._file.commit()

    def _forget(self) -> None:
        if self._file is None:
            return
        with suppress(Exception):  # the store drops what is never completed
            self._file.discard()
        self._file.closed = True  # closing it would upload the rest


class RenamedWriting(Writing):
    """A file of any other store of fsspec: under another name there until it is complete."""

    def __init__(self, path: str, fs: Any, name: str) -> None:
        super().__init__(path)
        self._fs, self._name = fs, name
        folder, slash, last = name.rpartition("/")
        self._part = f"{folder}{slash}.{last}.{os.urandom(4).hex()}.part"
        self._file: Any = None
        self._file = self._do(lambda: fs.open(self._part, "wb"), "begin")

    def _append(self, data: Any) -> None:
        self._file.write(data)

    def _publish(self) -> None:
        self._file.close()
        self._fs.mv(self._part, self._name)

    def _forget(self) -> None:
        if self._file is None:
            return
        with suppress(Exception):
            self._file.close()
        with suppress(Exception):
            self._fs.rm_file(self._part)


def open_for_writing(path: str) -> Writing:
    """A binary file that replaces the one at `path` when it is committed, all at once.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with open_for_writing(f"{folder.name}/a.bin") as file:
    ...     print(file.write(b"abc"), os.path.exists(f"{folder.name}/a.bin"))
    3 False
    >>> Path(folder.name, "a.bin").read_bytes()
    b'abc'
    >>> folder.cleanup()
    """
    path = os.fspath(path)
    if not is_address(path):
        return LocalWriting(path, path)
    if path.lower().startswith(FILE):
        return LocalWriting(path, path[len(FILE) :])
    fs, name = filesystem(path)
    return UploadWriting(path, fs, name) if fs.async_impl else RenamedWriting(path, fs, name)
