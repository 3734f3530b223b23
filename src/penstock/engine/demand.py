"""How many rows to ask for: one at first, more while rows are small and quick."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from penstock.blocks.block import Block
from penstock.engine.meter import Meter
from penstock.graph.running import Running
from penstock.report.report import Chosen

PATIENCE = 0.01
"""Seconds: a block that takes longer to make is made smaller."""
MOST = 1 << 17
GROWTH = 8
"""A block has at most so many times the rows of the one before."""


NEAR = 0.25
"""A size that is so near to the one there is stays as it is: what a row takes is never known exactly."""


class Demand:
    """Pulls blocks of a size that suits what they cost, and tells the meter which size that is.

    The size decides when elements arrive, never which.
    """

    def __init__(self, rows_for: Callable[[int], int], fixed: int | None, meter: Meter | None = None) -> None:
        self._rows_for = rows_for
        self._fixed = fixed
        self._meter = meter
        self._row_seconds = 0.0
        self._largest = 0
        self._why = "as many as fill a block"
        self.rows = fixed or 1

    def pull(self, upstream: Running) -> Block | None:
        """The next block."""
        began = perf_counter()
        block = upstream.pull(self.rows)
        if block is not None and self._fixed is None:
            self._learn(block, perf_counter() - began)
        return block

    def _learn(self, block: Block, seconds: float) -> None:
        one = seconds / block.rows
        if self._row_seconds and one > self._row_seconds:
            one = (self._row_seconds + one) / 2  # this block may have been held up
        self._row_seconds = one
        by_bytes = self._rows_for(block.nbytes // block.rows)
        by_time = int(PATIENCE / max(one, 1e-12))
        rows = max(1, min(GROWTH * self.rows, by_bytes, by_time, MOST))
        if self.rows > by_bytes or abs(rows - self.rows) > NEAR * self.rows:
            self.rows = rows
            self._why = "they come within 10 ms" if by_time < by_bytes else "as many as fill a block"
        self._largest = max(self._largest, block.rows)
        if self._meter is not None:  # where fewer come than are asked for, that is the number
            chosen = Chosen("rows a block", min(self.rows, self._largest), self._why)
            self._meter.chosen["rows a block"] = chosen
