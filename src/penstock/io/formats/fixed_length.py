"""Files of records of one length as blocks of `bytes`."""

from __future__ import annotations

import numpy as np

from penstock.blocks.block import Block
from penstock.blocks.columns import BytesColumn
from penstock.blocks.origin import Spaced
from penstock.blocks.structure import LEAF
from penstock.errors import DataError
from penstock.graph.running import Context
from penstock.io.formats.pieces import Bytes, PiecewiseReader
from penstock.io.stores.decompress import Plain, Stream


class FixedLengthReader(PiecewiseReader):
    """Records of `record` bytes, between `header` bytes and `footer` bytes that are passed over."""

    longest = "record"

    def __init__(
        self,
        stream: Stream,
        context: Context,
        buffer_size: int | None,
        *,
        record: int,
        header: int,
        footer: int,
    ) -> None:
        super().__init__(stream, context, buffer_size)
        self._record, self._header, self._footer = record, header, footer
        self._skip = header
        self._footless = footer > 0
        # Where the length of the file is known, it is looked at before any record is.
        self._size = stream.stored.size if isinstance(stream, Plain) else None

    def go_on(self) -> None:
        self._skip, self._size = 0, None

    def parse(self, data: Bytes, last: bool) -> tuple[int, list[Block | DataError]]:
        size, self._size = self._size, None
        if size is not None:
            body = size - self._header - self._footer
            if body < 0 or body % self._record:
                self._skip, self._footless = 0, False
                self.give_up()
                whole = self._header + max(body, 0) // self._record * self._record
                return len(data), [self._misfit(size, min(size, whole))]
        if self._skip:
            skipped = min(self._skip, len(data))
            self._skip -= skipped
            return skipped, []
        rows = (len(data) - self._footer) // self._record
        if rows <= 0:
            return self._end(data) if last else (0, [])
        used = rows * self._record
        offsets = np.arange(0, used + 1, self._record, dtype=np.int64)
        column = BytesColumn(data[:used].copy(), offsets, text=False)
        return used, [
            Block(LEAF, [column], rows, origin=Spaced(self.path, self.base, offsets, 0, self.unpacked))
        ]

    def at_end(self) -> DataError | None:
        return self._misfit(self.base, self.base) if self._skip or self._footless else None

    def _end(self, data: Bytes) -> tuple[int, list[Block | DataError]]:
        """What follows the last whole record."""
        self._footless = False
        if len(data) == self._footer:
            return len(data), []
        return len(data), [self._misfit(self.base + len(data), self.base)]

    def _misfit(self, size: int, offset: int) -> DataError:
        body = size - self._header - self._footer
        beside = f"{self._header} of a header and {self._footer} of a footer"
        got = f"{body} bytes between" if body >= 0 else f"{size} bytes with"
        return self.wrong(
            f"expected whole records of {self._record} bytes, got {got} {beside}. Are record_bytes, "
            f"header_bytes and footer_bytes right, and the file complete?",
            offset,
        )
