"""A stored file as one of Python's file objects, for libraries that read from those."""

from __future__ import annotations

import io

from penstock.io.stores.stored import Stored


class StoredSource(io.RawIOBase):
    """A position in a stored file, which stays open when this is closed, unless it `owns` it."""

    def __init__(self, stored: Stored, *, owns: bool = False) -> None:
        super().__init__()
        self._stored = stored
        self._owns = owns
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._stored.size}[whence]
        if base + offset < 0:  # an `OSError`, as of a file: readers of archives count on it
            raise io.UnsupportedOperation(f"a place {-base - offset} bytes before the beginning of the file")
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        data = self._stored.read(self._at, self._stored.size if size is None or size < 0 else size)
        self._at += len(data)
        return data

    def close(self) -> None:
        if self._owns:
            self._stored.close()
        super().close()
