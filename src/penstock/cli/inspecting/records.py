"""The records of a TFRecord file in batches, both checksums looked at, and what is wrong with the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.cli.inspecting.looking import words
from penstock.errors import DataError
from penstock.io.stores.decompress import Stream
from penstock.kernels.frames import FOOT, HEAD, SHORT, WRONG_DATA, unframe
from penstock.memory.sizes import show_bytes

PIECE = 1 << 20
"""So many bytes are at hand at a time, or one record if that is larger."""
ROWS = 8192
"""The most records of a batch."""

Bytes = NDArray[np.uint8]
Index = NDArray[np.int64]
Wrong = Callable[[int, str, int | None], None]


@dataclass(frozen=True)
class Batch:
    """Some records, end to end, to be looked at before the next ones come."""

    values: Bytes
    offsets: Index
    """Where they begin in `values`, and where the last one ends."""
    starts: Index
    """Where their frames begin in the file, unpacked."""
    first: int
    """The number of the first one."""


class Records:
    """One file at work."""

    def __init__(self, stream: Stream, compression: str | None, wrong: Wrong) -> None:
        self._stream = stream
        self._compression = compression
        self._wrong = wrong
        self._buffer: Bytes = np.empty(PIECE, np.uint8)
        self._at = self._stop = 0
        self._base = 0
        """Where in the file, unpacked, the buffer begins."""
        self.count = 0
        """Of the records so far, also of those with a wrong checksum."""
        self.whole = True

    @property
    def place(self) -> int:
        """How many bytes were looked at, unpacked."""
        return self._base + self._at

    def batches(self, most: int | None) -> Iterator[Batch]:
        """The records that are right, up to number `most`."""
        while most is None or self.count < most:
            room = min(ROWS, max(1, (self._stop - self._at) // (HEAD + FOOT)))
            offsets = np.empty(room + 1, np.int64)
            if most is not None:
                room = min(room, most - self.count)
            begin = self._at
            rows, self._at, why, size = unframe(
                self._buffer, begin, self._stop, self._buffer, 0, offsets, room
            )
            if rows:
                bounds = offsets[: rows + 1]
                starts = self._base + begin + bounds[:-1] + (HEAD + FOOT) * np.arange(rows)
                yield Batch(self._buffer[: int(bounds[-1])], bounds, starts, self.count)
                self.count += rows
            elif why == WRONG_DATA:
                self._wrong(
                    self.place,
                    f"the checksum of the record's {size - HEAD - FOOT:,} bytes is wrong: they are damaged",
                    self.count,
                )
                self._at += size
                self.count += 1
            elif why == SHORT:
                if not self._read(size):
                    return
            elif not self._search():
                return
        self.whole = not (self._stop - self._at or self._read(HEAD))

    def _read(self, size: int) -> bool:
        """Have more of a frame that has at least `size` bytes; False at the end of the file."""
        have = self._stop - self._at
        stored = self._stream.stored
        if not self._compression and size > (left := stored.size - self.place):
            # Found before anything is allocated: a damaged length may be huge.
            if left:
                self._cut_off(size, left)
            return False
        rest = self._buffer[self._at : self._stop]
        if len(self._buffer) < size:
            try:
                self._buffer = np.empty(max(size, PIECE), np.uint8)
            except MemoryError:
                self._wrong(
                    self.place, f"a record of {show_bytes(size)}, for which there is no memory", self.count
                )
                return False
        self._buffer[:have] = rest
        self._base += self._at
        self._at, self._stop = 0, have
        try:
            count = self._stream.read_into(self._buffer[have:].data)
        except DataError as error:
            self._wrong(error.offset, f"{words(error)} (the offset is that in the packed file)", None)
            return False
        self._stop += count
        if count == 0 and have:
            self._cut_off(size, have)
        return count > 0

    def _cut_off(self, size: int, have: int) -> None:
        what = "the head of a record" if size == HEAD else "a record with its frame"
        self._wrong(
            self.place, f"expected {what} in {size:,} bytes, got {have:,}: the file is cut off", self.count
        )

    def _search(self) -> bool:
        """Go on behind a length that is wrong, where the next head is right; False if there is none."""
        from penstock.kernels.frame_search import next_head

        lost = self.place
        self._at += 1
        while True:
            found = next_head(self._buffer, self._at, self._stop)
            if found >= 0:
                self._at = found
                break
            self._at = max(self._at, self._stop - HEAD + 1)
            if not self._more():
                break
        next_one = f"the next one is at byte {self.place:,}" if found >= 0 else "no record follows"
        if lost == 0 and found < 0:
            next_one += "; is it a TFRecord file?"
        self._wrong(
            lost,
            f"the checksum of a record's length is wrong, so where it ends cannot be known; {next_one}",
            self.count,
        )
        return found >= 0

    def _more(self) -> bool:
        """Have more bytes at hand, whatever they are."""
        have = self._stop - self._at
        self._buffer[:have] = self._buffer[self._at : self._stop].copy()
        self._base += self._at
        self._at, self._stop = 0, have
        try:
            count = self._stream.read_into(self._buffer[have:].data)
        except DataError as error:
            self._wrong(error.offset, f"{words(error)} (the offset is that in the packed file)", None)
            return False
        self._stop += count
        return count > 0
