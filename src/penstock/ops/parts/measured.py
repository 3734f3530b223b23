"""An input that is asked for what makes a block, however much is wanted in the end."""

from __future__ import annotations

from penstock.blocks.block import Block
from penstock.graph.running import Context, Running


class Measured:
    """Pulls one row at first, then as many as make a block of the rows that have come."""

    def __init__(self, source: Running, context: Context) -> None:
        self._source = source
        self._context = context
        self._most = 1

    def pull(self, rows: int) -> Block | None:
        """The next rows, `rows` at most and never many blocks' worth."""
        block = self._source.pull(min(rows, self._most))
        if block is not None:
            by_bytes = self._context.rows_for(block.nbytes // block.rows)
            self._most = min(2 * self._most, by_bytes)
        return block
