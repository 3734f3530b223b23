"""Files read from the first byte to the last, in pieces that hold many elements."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.block import Block
from penstock.errors import DataError
from penstock.graph.running import Context
from penstock.io.formats.reader import Reader
from penstock.io.stores.decompress import Plain, Stream
from penstock.memory.sizes import show_bytes

LEAST = 4 << 10
MOST = 256 << 10
"""A piece has no more bytes than this where nobody said how many: it stays in the core's cache."""

Bytes = NDArray[np.uint8]


def piece_bytes(context: Context, buffer_size: int | None) -> int:
    """How many bytes to read at a time."""
    wanted = min(context.block_bytes, MOST) if buffer_size is None else buffer_size
    # Many files may be open at once, so each takes no more than a part of what is left.
    return max(LEAST, min(wanted, context.ledger.room(context.account) // 8))


class PiecewiseReader(Reader):
    """A file whose elements follow one another; `parse` finds those in the bytes at hand."""

    longest = "element"
    """What it is that may be too large, for messages."""

    def __init__(self, stream: Stream, context: Context, buffer_size: int | None) -> None:
        self.path = stream.stored.path
        self.unpacked = not isinstance(stream, Plain)
        self.context = context
        self.base = 0
        """Where in the file, unpacked, the bytes at hand begin."""
        self._stream = stream
        self.piece = piece_bytes(context, buffer_size)
        self._buffer: Bytes = np.empty(0, np.uint8)
        self._at = self._stop = 0
        self._ready: deque[Block | DataError] = deque()
        self._complete = self._given_up = False
        self._ended = False
        self._line = 0

    @abstractmethod
    def parse(self, data: Bytes, last: bool) -> tuple[int, list[Block | DataError]]:
        """What comes first in `data`, in order, and how many bytes it took.

        That is as much as makes a block; with `last`, no bytes follow these, so that something is found.
        Nothing and 0 mean that more bytes are needed. Nobody may see `data` afterwards.
        """

    def give_up(self) -> None:
        """Have `parse` called no more: nothing follows what it returns."""
        self._complete = self._given_up = True

    def at_end(self) -> DataError | None:
        """What is wrong with a file that ends here."""
        return None

    def pull(self, rows: int) -> Block | None:
        while not self._ready:
            if self._ended:
                return None
            self._next()
        head = self._ready.popleft()
        if isinstance(head, DataError):
            raise head
        if head.rows > rows:
            self._ready.appendleft(head.slice(rows, head.rows))
            head = head.slice(0, rows)
        return head

    def _next(self) -> None:
        """Find something in the bytes at hand, or have more of them."""
        data = self._buffer[self._at : self._stop]
        used, found = self.parse(data, self._complete) if len(data) else (0, [])
        self._ready.extend(found)
        self._at += used
        self.base += used
        if used or found:
            return
        if not self._complete:
            self._read()
            return
        self._ended = True
        wrong = self.at_end()
        if wrong is not None:
            self._ready.append(wrong)

    def _read(self) -> None:
        have = self._stop - self._at
        size = self.piece
        while size < 2 * have:
            size *= 2
        rest = self._buffer[self._at : self._stop]
        if len(self._buffer) < size:
            if size > self.piece:
                self.context.account.need(
                    size + have,
                    f"That is for one {self.longest}, at byte {self.base} of {self.path}: it has more "
                    f"than {show_bytes(have)}.",
                )
            self._buffer = self.context.empty(size, np.uint8)
        self._buffer[:have] = rest
        self._at, self._stop = 0, have
        try:
            count = self._stream.read_into(self._buffer[have:].data)
        except DataError as error:
            self._ready.append(error)
            self._ended = True
            return
        self._stop += count
        self._complete = count == 0  # fewer than asked may also come before damaged ones

    def state(self) -> Any:
        if self._ready or self._ended or self._given_up or not self._stream.seekable:
            return None
        return {"offset": self.base, "line": self._line}

    def restore(self, state: Any) -> None:
        self.base, self._line = state["offset"], state["line"]
        self._stream.seek(self.base)
        self.go_on()

    def go_on(self) -> None:
        """Have `parse` called with what follows other elements."""

    def wrong(self, what: str, offset: int, line: int | None = None) -> DataError:
        """An error about what is `offset` bytes into the file, unpacked."""
        where = f"byte {offset}" if line is None else f"line {line}, byte {offset}"
        return DataError(
            f"{self.context.where}: {self.path}, {where}: {what}",
            op=self.context.label,
            file=self.path,
            offset=offset,
        )

    def close(self) -> None:
        self._ended = True
        self._ready.clear()
        self._buffer = np.empty(0, np.uint8)
        self._at = self._stop = 0
        self._stream.close()
