"""The index of a TFRecord file: where its records begin, kept in a file beside it.

The index of `NAME` is `.NAME.penstock-index`, with a dot so that patterns for data skip it; or it lies in the
user's cache folder where the folder of the file cannot be written to. It holds the stamp of the file that it
was made of, and is made anew when the file has changed or the index is damaged.

It is made of the heads of records alone, so it does not say that the records are good before each has been
read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from penstock.errors import StoreError
from penstock.io.stores.listing import INDEX_SUFFIX
from penstock.io.stores.stored import Stored
from penstock.kernels.frames import LIMIT, WRONG_LENGTH, locate
from penstock.kernels.spans import Empty

Index = NDArray[np.int64]

MAGIC = b"PENSTOCK-INDEX-1"
HEADER = struct.Struct("<16s32sQQI")
"""Magic, hash of the file's stamp, how many records, where the last one ends, sum of all else."""
SUM = struct.Struct("<I")
MARK = HEADER.size
"""Where the hash of all before stands, once every record has been read and was good."""
BODY = 128
"""Where the offsets begin."""
LARGEST, SMALLEST = 1 << 20, 4 << 10
"""The most and the fewest bytes that are read at a time to find records."""
FEW = 8
"""Where a read finds fewer heads, smaller reads do."""
STEP = 8192
"""So many offsets are written at a time."""


class FileIndex:
    """Where the records of one file begin: `count` of them, and one more for the end of the last.

    What is behind that end, if the file is longer, cannot be read as a record: it is damaged there.
    """

    def __init__(
        self, kept: Path | IO[bytes], stored: Stored, count: int, end: int, *, verified: bool = False
    ) -> None:
        self._kept = kept
        """Where the index is, or the only file that it is in."""
        self.stamp = stored.stamp
        self.count = count
        self.damaged = end < stored.size
        self.verified = verified
        """Every record of the file has been read, and was good."""
        self._starts: Index | None = None

    @property
    def elements(self) -> int:
        """The records, and one for the damage behind them if there is any."""
        return self.count + self.damaged

    @property
    def nbytes(self) -> int:
        """What it takes in memory."""
        return 8 * (self.count + 1)

    def in_memory(self) -> None:
        """Read it, so that it need not be read from disk again."""
        self._starts = np.array(self._on_disk())

    def spans(self, rows: Index) -> tuple[Index, Index]:
        """Where the frames of these records begin and end; the damage begins and ends at the end."""
        starts = self._on_disk() if self._starts is None else self._starts
        return np.array(starts[rows]), np.array(starts[np.minimum(rows + 1, self.count)])

    def _on_disk(self) -> Index:
        return np.memmap(self._kept, np.int64, "r", BODY, (self.count + 1,))

    def verify(self) -> None:
        """Say where it is kept that every record has been read, and was good."""
        self.verified = True
        if not isinstance(self._kept, Path):
            return
        with contextlib.suppress(OSError), self._kept.open("r+b") as file:
            header = file.read(HEADER.size)
            if header.startswith(MAGIC + _hash(self.stamp)):  # and is not of a later file
                file.seek(MARK)
                file.write(_mark(header))

    def close(self) -> None:
        """Let go of what it holds."""
        self._starts = None
        if not isinstance(self._kept, Path):
            self._kept.close()


def find(stored: Stored) -> FileIndex | None:
    """The index of a file, if there is one that is of this very file and not damaged."""
    for path in _places(stored.path):
        with contextlib.suppress(OSError), path.open("rb") as file:
            found = _checked(file, stored)
            if found is not None:
                count, end, verified = found
                return FileIndex(path, stored, count, end, verified=verified)
    return None


def _checked(file: IO[bytes], stored: Stored) -> tuple[int, int, bool] | None:
    """The count, the end, and whether all was found good; None if it is of another file, or damaged."""
    header = file.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    magic, stamp, count, end, total = HEADER.unpack(header)
    there = os.fstat(file.fileno()).st_size
    if (magic, stamp, there) != (MAGIC, _hash(stored.stamp), BODY + 8 * (count + 1)):
        return None
    verified = file.read(BODY - MARK).startswith(_mark(header))
    found = 0
    while piece := file.read(LARGEST):
        found = zlib.crc32(piece, found)
    return (count, end, verified) if zlib.crc32(header[: -SUM.size], found) == total else None


def make(stored: Stored, empty: Empty) -> FileIndex:
    """Index a file, and keep the index where one can be kept; otherwise as long as it is used."""
    for path in _places(stored.path):
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            return _make_at(path, stored, empty)
    try:
        file = tempfile.TemporaryFile()  # noqa: SIM115
        return FileIndex(file, stored, *_write(file, stored, empty))
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError.of(error, tempfile.gettempdir()) from error


def _make_at(path: Path, stored: Stored, empty: Empty) -> FileIndex:
    """Write the index under another name, and give it its own when it is complete."""
    prefix = f".{path.name.lstrip('.')[:100]}-"
    handle, name = tempfile.mkstemp(INDEX_SUFFIX, prefix, path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            found = _write(file, stored, empty)
        readable = stat.S_IMODE(Path(stored.path).stat().st_mode) & 0o666
        Path(name).chmod(readable | stat.S_IRUSR | stat.S_IWUSR)  # by whoever can read the records
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    return FileIndex(path, stored, *found)


def _write(file: IO[bytes], stored: Stored, empty: Empty) -> tuple[int, int]:
    """Write the index of a file: how many records it has, and where the last one ends."""
    count = end = total = 0
    file.seek(BODY)
    for starts, after in _located(stored, empty):
        total = zlib.crc32(starts.tobytes(), total)
        file.write(starts.tobytes())
        count, end = count + len(starts), after
    last = struct.pack("<q", end)
    header = HEADER.pack(MAGIC, _hash(stored.stamp), count, end, 0)[: -SUM.size]
    file.write(last)
    file.seek(0)
    file.write(header + SUM.pack(zlib.crc32(header, zlib.crc32(last, total))))
    file.flush()
    return count, end


def _located(stored: Stored, empty: Empty) -> Iterator[tuple[Index, int]]:
    """The beginnings of some records that are whole, and the end of the last, again and again."""
    buffer, offsets = empty(LARGEST, np.uint8), np.empty(STEP, np.int64)
    base, reads = 0, 64 << 10
    while base < stored.size:
        had = stored.read_into(base, buffer[: min(reads, stored.size - base)].data)
        at, rows = 0, 0
        while True:
            count, stop, why, _ = locate(buffer, at, had, base, offsets)
            whole = base + stop <= stored.size
            if count:
                yield (
                    offsets[: count if whole else count - 1],
                    base + stop if whole else int(offsets[count - 1]),
                )
            at, rows = stop, rows + count
            if why != LIMIT:
                break
        if why == WRONG_LENGTH or not rows:  # damaged, or not even a head is left
            return
        base += at
        reads = max(reads // 4, SMALLEST) if rows < FEW else min(4 * reads, LARGEST)


def _places(path: str) -> Iterator[Path]:
    """Where the index of a file may be."""
    file = Path(path)
    yield file.with_name(f".{file.name}{INDEX_SUFFIX}")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    name = hashlib.sha256(os.fsencode(os.path.abspath(path))).hexdigest()  # noqa: PTH100
    yield Path(cache) / "penstock" / (name[:40] + INDEX_SUFFIX)


def _hash(stamp: str) -> bytes:
    return hashlib.sha256(stamp.encode()).digest()


def _mark(header: bytes) -> bytes:
    return hashlib.sha256(header).digest()
