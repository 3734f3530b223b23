"""The rows of a batch until it is complete: the parts that came, or a log where they are many."""

from __future__ import annotations

from collections.abc import Callable

from penstock.blocks.block import Block
from penstock.graph.running import Context
from penstock.memory.rowlog import RowLog

FEW = 2
"""So many blocks' bytes are kept in parts; more are copied to a log, which can go to disk."""


class Gathered:
    """Rows in the order in which they came.

    They are kept as they are, without a copy, until `move` puts them into a log; then all rows that
    come up to the next `drain` or `clear` go there as well.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._log: RowLog | None = None
        self.bytes = 0  # of the rows in parts
        self.parts: list[Block] = []
        self.rows = 0
        self.logged = False

    @property
    def many(self) -> bool:
        """Whether the rows in parts are too many to stay there while more come."""
        return self.bytes > FEW * self._context.block_bytes

    def add(self, block: Block) -> None:
        """Take more rows."""
        self.rows += block.rows
        if self.logged:
            assert self._log is not None
            self._log.append(block)
        else:
            size = block.nbytes
            self.parts.append(block)
            self.bytes += size
            if self.bytes > self._context.block_bytes // 2:
                # As much may come again beside these: what others have reserved makes room for it.
                self._context.account.expect(size)
                self._context.ledger.make_room(size)

    def first(self, rows: int) -> list[Block]:
        """The first `rows` of the rows in parts."""
        parts = []
        for part in self.parts:
            if rows <= 0:
                break
            parts.append(part.slice(0, min(rows, part.rows)))
            rows -= part.rows
        return parts

    def cut(self, rows: int) -> list[Block]:
        """The first `rows` of the rows in parts, which are then at hand no more."""
        cut = self.first(rows)
        self.rows -= rows
        while rows:
            part = self.parts.pop(0)
            if part.rows > rows:
                self.parts.insert(0, part.slice(rows, part.rows))
                break
            rows -= part.rows
        self.bytes = sum(part.nbytes for part in self.parts)
        return cut

    def move(self) -> None:
        """Put all rows into a log."""
        self.put_off(self.parts)
        self.bytes = 0
        self.logged = True

    def put_off(self, parts: list[Block]) -> None:
        """Move rows that have been cut to the log, out of the list."""
        if self._log is None:
            context = self._context
            self._log = RowLog(context.account, context.scratch, context.empty, context.note)
        while parts:
            self._log.append(parts.pop(0))

    def drain(self, lay: Callable[[Block], None]) -> None:
        """Hand over the rows of the log part by part, in order; each is forgotten after that."""
        log = self._log
        assert log is not None
        most = self._context.rows_for(log.row_bytes)
        while log.first < log.rows:
            # `lay` has the only reference to the part, so that one is in memory at a time.
            log.drop_before(log.first + _laid(lay, log.read(log.first, most)))
        self._forget_logged()

    def clear(self) -> None:
        """Forget all rows."""
        if self._log is not None:
            self._log.clear()
        self._forget_logged()
        self.parts, self.bytes, self.rows = [], 0, 0

    def _forget_logged(self) -> None:
        if self.logged:
            self.rows = 0
        self.logged = False

    def fits(self, size: int) -> bool:
        """Whether `size` more bytes fit the budget beside the rows in parts."""
        context = self._context
        few = FEW * context.block_bytes
        return size <= few or size <= context.ledger.room(context.account)

    def close(self) -> None:
        """Forget all rows, for good."""
        self.clear()
        if self._log is not None:
            self._log.close()


def _laid(lay: Callable[[Block], None], part: Block) -> int:
    lay(part)
    return part.rows
