"""Rows in a file that outlives the process: written whole or not at all, and checked when read."""

from __future__ import annotations

import bisect
import os
import pickle
import secrets
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.pack import Packed, pack, unpack_views
from penstock.errors import PenstockError
from penstock.memory.locked import read_only
from penstock.memory.pages import own_pages
from penstock.memory.rowlog import RowLog

BEGIN = b"penstock rows 1\n"
END = b"end of rows\n"
_NUMBERS = 16  # the footer's length and its checksum, before the end


class RowFile:
    """A file of rows, open for reading; `about` is what its writer said of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            footer = self._footer()
        except BaseException:
            self.close()
            raise
        self._stamp = self._stat()
        self.about: Any = footer["about"]
        self.rows: int = footer["rows"]
        self._chunks: list[tuple[int, Packed, int, int]] = footer["chunks"]
        self._current: tuple[int, Block] | None = None

    def open(self) -> None:
        """Open the file again after `close`."""
        if self._fd < 0:
            self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            if self._stat() != self._stamp:
                self.close()
                raise PenstockError(
                    f"The file {self.path} was changed by someone else since it was first read. "
                    f"Declare the dataset again to read what is there now."
                )

    def close(self) -> None:
        """Close the file."""
        self._current = None
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def read(self, start: int, rows: int) -> Block:
        """From 1 up to `rows` rows from number `start` on, read-only."""
        number = bisect.bisect(self._chunks, start, key=lambda chunk: chunk[0]) - 1
        if self._current is None or self._current[0] != number:
            self._current = None
            self._current = number, self._load(number)
        block = self._current[1]
        at = start - self._chunks[number][0]
        stop = min(at + rows, block.rows)
        if stop == block.rows:
            self._current = None  # the next chunk is not made beside this one
        return read_only(block.slice(at, stop))

    def _load(self, number: int) -> Block:
        first, packed, offset, checksum = self._chunks[number]
        raw = own_pages(packed.nbytes, np.uint8)
        self._read_at(offset, raw)
        if zlib.crc32(raw.data) != checksum:
            raise self._damaged(f"the rows from number {first} on do not match their checksum")
        return unpack_views(packed, raw)

    def _footer(self) -> dict[str, Any]:
        size = os.fstat(self._fd).st_size
        least = len(BEGIN) + _NUMBERS + len(END)
        if size < least:
            raise self._damaged(f"it has {size} bytes, and the smallest one has {least}")
        if os.pread(self._fd, len(BEGIN), 0) != BEGIN:
            raise self._damaged("it does not begin as a file of rows does")
        tail = os.pread(self._fd, _NUMBERS + len(END), size - _NUMBERS - len(END))
        if tail[_NUMBERS:] != END:
            raise self._damaged("its end is missing")
        length, checksum = (int.from_bytes(tail[i : i + 8], "little") for i in (0, 8))
        if length > size - least:
            raise self._damaged("its end is wrong")
        raw = np.empty(length, np.uint8)
        self._read_at(size - _NUMBERS - len(END) - length, raw)
        if zlib.crc32(raw.data) != checksum:
            raise self._damaged("its description does not match its checksum")
        footer: dict[str, Any] = pickle.loads(raw.data)
        return footer

    def _read_at(self, offset: int, out: Any) -> None:
        view, done = memoryview(out), 0
        while done < len(view):
            got = os.preadv(self._fd, [view[done:]], offset + done)
            if got == 0:
                raise self._damaged("it was cut short")
            done += got

    def _stat(self) -> tuple[int, int, int]:
        found = os.fstat(self._fd)
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _damaged(self, what: str) -> PenstockError:
        return PenstockError(
            f"The file {self.path} is damaged: {what}. Delete it, and it will be written again."
        )


def write_rows(path: Path, about: Any, log: RowLog | None) -> RowFile:
    """Write all rows of a log to a file, which appears under its name when it is whole."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as file:
            file.write(BEGIN)
            chunks, rows = _write_chunks(file, log)
            footer = pickle.dumps({"about": about, "rows": rows, "chunks": chunks})
            file.write(footer)
            for number in (len(footer), zlib.crc32(footer)):
                file.write(number.to_bytes(8, "little"))
            file.write(END)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise PenstockError(
            f"Writing the rows to {path} failed: {error.strerror}. Make room there, or name another file."
        ) from error
    finally:
        with suppress(OSError):  # a folder that cannot be written to has none
            draft.unlink(missing_ok=True)
    return RowFile(path)


def _write_chunks(file: Any, log: RowLog | None) -> tuple[list[tuple[int, Packed, int, int]], int]:
    chunks = []
    at, rows = 0, 0 if log is None else log.rows
    while log is not None and at < rows:
        packed, buffers = pack(log.read(at, rows - at))
        # Every chunk begins where any item may begin, so that its bytes can be viewed as arrays.
        file.write(bytes(-file.tell() % 64))
        place, checksum, end = file.tell(), 0, 0
        for offset, buffer in buffers:
            flat = np.ascontiguousarray(buffer).reshape(-1).view(np.uint8)
            for part in (np.zeros(offset - end, np.uint8), flat):
                checksum = zlib.crc32(part.data, checksum)
                file.write(part)
            end = offset + flat.nbytes
        rest = bytes(packed.nbytes - end)
        file.write(rest)
        chunks.append((at, packed, place, zlib.crc32(rest, checksum)))
        at += packed.rows
    return chunks, rows
