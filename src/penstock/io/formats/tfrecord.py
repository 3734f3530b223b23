"""TFRecord files as blocks of `bytes`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.blocks.columns import BytesColumn
from penstock.blocks.origin import Spaced
from penstock.blocks.structure import LEAF
from penstock.errors import BudgetError, DataError
from penstock.graph.running import Context
from penstock.io.formats.reader import Reader
from penstock.io.stores.decompress import Stream
from penstock.kernels.frames import FOOT, HEAD, WRONG_DATA, WRONG_LENGTH, unframe
from penstock.memory.sizes import show_bytes

FIRST = 128 << 10
"""So many bytes are read at first, and four times as many each time after, up to a block."""
NEAR = 1 << 20
"""More is read at a time only for who asks for more: so much stays in the processor's cache."""
LEAST = 4 << 10
"""So many are read at a time even where memory is short."""
PART = 16
"""A buffer takes no more than this part of the memory that is left."""
ROWS = 8192
"""The most rows of a block: more would gain nothing, and their bounds take memory too."""
DEFLATED = 1032
"""The most bytes that one byte of gzip or zlib data can stand for."""
MAGIC = {
    b"\x1f\x8b": "GZIP",
    b"\x28\xb5": "ZSTD",
    b"\x78\x01": "ZLIB",
    b"\x78\x9c": "ZLIB",
    b"\x78\xda": "ZLIB",
}
"""How compressed files begin."""


class TFRecordReader(Reader):
    """One file, read in large pieces into a buffer of its own.

    Records are found and checked there, and moved together over their frames: a block is a view of the
    buffer, which is left to its blocks when all of it is read. `buffer_bytes` bounds it, if no record
    is larger. The stream may begin at byte `start` of the file, with record `row`.
    """

    def __init__(
        self,
        stream: Stream,
        compression: str | None,
        context: Context,
        buffer_bytes: int,
        *,
        start: int = 0,
        row: int = 0,
    ) -> None:
        self._stream = stream
        self._compression = compression or ""
        self._context = context
        self._most = max(buffer_bytes, LEAST)
        self._ask = min(FIRST, self._most)
        self._buffer: NDArray[np.uint8] = np.empty(0, np.uint8)
        self._base = start
        """The bytes of the file before those in the buffer."""
        self._place = self._at = self._stop = 0
        """In the buffer: where the next record is moved to, where its frame begins, where the bytes end."""
        self._row = row
        self._bounds: NDArray[np.int64] = np.empty(0, np.int64)
        self._found = 0
        """The records from there on that have been found and checked, and their bounds in the buffer."""
        self._record = 0
        """The bytes of a record, about."""
        self._ended = False

    def pull(self, rows: int) -> Block | None:
        while not self._ended:
            if self._found:
                return self._block(min(rows, self._found))
            have = self._stop - self._at
            most = max(1, min(ROWS, have // (HEAD + self._record + FOOT) + 1))
            bounds = np.empty(most + 1, np.int64)
            self._found, _, why, size = unframe(
                self._buffer, self._at, self._stop, self._buffer, self._place, bounds, most
            )
            if self._found:
                found = bounds[: self._found + 1]
                self._bounds = found if 2 * len(found) > most else found.copy()  # many more were looked for
            elif why == WRONG_DATA:
                raise self._wrong_data(size)
            elif why == WRONG_LENGTH:
                raise self._last(self._wrong_length())
            else:
                self._read(size, rows)
        return None

    def state(self) -> Any:
        if self._ended or not self._stream.seekable:
            return None
        return {"offset": self._base + self._at, "row": self._row}

    def restore(self, state: Any) -> None:
        self._base, self._row = state["offset"], state["row"]
        self._stream.seek(self._base)

    def _block(self, rows: int) -> Block:
        """The next of the records that have been found."""
        bounds, self._bounds = self._bounds[: rows + 1], self._bounds[rows:]
        path, unpacked = self._stream.stored.path, bool(self._compression)
        origin = Spaced(path, self._base + self._at, bounds, HEAD + FOOT, unpacked)
        self._found -= rows
        first, self._place = self._place, int(bounds[-1])
        self._at += self._place - first + rows * (HEAD + FOOT)
        self._row += rows
        self._record = (self._place - first) // rows
        return Block(LEAF, [BytesColumn(self._buffer, bounds, text=False)], rows, origin=origin)

    def _read(self, size: int, rows: int) -> None:
        """Have more of the frame at hand, which has at least `size` bytes and is not complete.

        So many rows are asked for.
        """
        have, left = self._stop - self._at, self._left()
        if left == 0:
            self._ended = True
            return
        if size > left:  # found before anything is allocated
            raise self._last(self._cut_off(size))
        self._have_room(min(max(size, self._at_once(rows)), left))
        try:
            count = self._stream.read_into(self._buffer[have:].data)
        except DataError as error:
            error.number = self._row
            raise self._last(error) from None
        self._stop += count
        if count == 0:
            if have:
                raise self._last(self._cut_off(size))
            self._ended = True

    def _at_once(self, rows: int) -> int:
        """How many bytes to read now. Many files may be open: each takes but a part of what is left."""
        part = self._context.ledger.room(self._context.account) // PART
        return min(self._ask, max(part, LEAST), max(rows * (HEAD + self._record + FOOT), NEAR))

    def _left(self) -> int:
        """The most bytes that there can be from the frame at hand on."""
        if not self._compression:
            return self._stream.stored.size - self._base - self._at
        have, packed = self._stop - self._at, self._stream.stored.size
        return have + HEAD + DEFLATED * packed if self._compression != "ZSTD" else 1 << 62

    def _have_room(self, room: int) -> None:
        """Begin the buffer with the frame at hand, and have room for so many bytes from there on."""
        have = self._stop - self._at
        rest = self._buffer[self._at : self._stop]
        if self._place or len(self._buffer) < room:  # otherwise, nobody else has seen the buffer
            if room > self._most:
                self._ask_for(room)
            self._ask = min(4 * self._ask, self._most)
            self._buffer = self._context.empty(room, np.uint8)
        self._buffer[:have] = rest
        self._base += self._at
        self._place, self._at, self._stop = 0, 0, have

    def _ask_for(self, room: int) -> None:
        """See that a frame of `room` bytes fits the budget; if it does not, whether it is there at all."""
        remedy = f"That is for one record, of {show_bytes(room)}: make records smaller."
        try:
            self._context.account.need(room + self._stop - self._at, remedy)
        except BudgetError:
            if not self._compression or self._goes_on(room - self._stop + self._at):
                raise
            raise self._last(self._cut_off(room)) from None

    def _goes_on(self, size: int) -> bool:
        """Whether so many bytes more can be unpacked; they are lost."""
        scratch = np.empty(FIRST, np.uint8)
        while size > 0:
            try:
                count = self._stream.read_into(scratch[:size].data)
            except DataError:
                return False
            if count == 0:
                return False
            size -= count
        return True

    def _wrong_data(self, size: int) -> DataError:
        length = size - HEAD - FOOT
        error = self._error(
            f"expected {length} bytes with the checksum that follows them, got others. The record is "
            f"damaged; reading goes on after it."
        )
        self._at += size
        self._row += 1
        return error

    def _wrong_length(self) -> DataError:
        first = self._buffer[self._at : self._at + 2].tobytes()
        if self._base + self._at == 0 and not self._compression and first in MAGIC:
            remedy = f"Is it compressed? Then say compression_type={MAGIC[first]!r}."
        elif self._base + self._at == 0:
            remedy = "Is it a TFRecord file, and compression_type right?"
        else:
            remedy = "The file is damaged, and nothing after this can be found: it ends here."
        return self._error(f"expected the length of a record with its checksum, got other bytes. {remedy}")

    def _cut_off(self, size: int) -> DataError:
        left = self._left()
        have = left if left < size and not self._compression else self._stop - self._at
        what = "the head" if size == HEAD and have < HEAD else "the whole"
        return self._error(
            f"expected {what} of the record in {size} bytes, got {have}. The file is cut off; it ends here."
        )

    def _error(self, what: str) -> DataError:
        path, offset = self._stream.stored.path, self._base + self._at
        unpacked = " of what it holds unpacked" if self._compression else ""
        return DataError(
            f"{self._context.where}: {path}, record {self._row} at byte {offset}{unpacked}: {what}",
            op=self._context.label,
            number=self._row,
            file=path,
            offset=offset,
        )

    def _last(self, error: DataError) -> DataError:
        self._ended = True
        return error

    def close(self) -> None:
        self._ended = True
        self._buffer = np.empty(0, np.uint8)
        self._stream.close()
