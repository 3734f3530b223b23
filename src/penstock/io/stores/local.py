"""Files of this machine."""

from __future__ import annotations

import errno
import os
import stat

from penstock.errors import StoreError
from penstock.io.stores.stored import Stored


def stamp_of(status: os.stat_result) -> str:
    """The stamp of a file of which the system says this: its size, and when it was last written to."""
    return f"{status.st_size}-{status.st_mtime_ns}"


class LocalFile(Stored):
    """A file of this machine, read without a position of its own, so that threads can share it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = -1
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            status = os.fstat(self._file)
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, "it is a folder")
        except OSError as error:
            self.close()
            raise StoreError.of(error, path) from error
        self.size = status.st_size
        self.stamp = stamp_of(status)

    def read_into(self, start: int, out: memoryview) -> int:
        done = 0
        try:
            while done < len(out):
                count = os.preadv(self._file, [out[done:]], start + done)
                if count == 0:
                    break
                done += count
        except OSError as error:
            raise StoreError.of(error, self.path, start + done) from error
        return done

    def close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def __del__(self) -> None:
        self.close()
