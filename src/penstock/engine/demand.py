"""How many rows to ask for: one at first, more while rows are small and quick."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from penstock.blocks.block import Block
from penstock.graph.running import Running

PATIENCE = 0.01
"""Seconds: a block that takes longer to make is made smaller."""
MOST = 1 << 17
GROWTH = 8
"""A block has at most so many times the rows of the one before."""


class Demand:
    """Pulls blocks of a size that suits what they cost.

    The size decides when elements arrive, never which.
    """

    def __init__(self, rows_for: Callable[[int], int], fixed: int | None) -> None:
        self._rows_for = rows_for
        self._fixed = fixed
        self.rows = fixed or 1

    def pull(self, upstream: Running) -> Block | None:
        """The next block."""
        began = perf_counter()
        block = upstream.pull(self.rows)
        if block is not None and self._fixed is None:
            self._learn(block, perf_counter() - began)
        return block

    def _learn(self, block: Block, seconds: float) -> None:
        by_bytes = self._rows_for(block.nbytes // block.rows)
        by_time = int(PATIENCE * block.rows / max(seconds, 1e-9))
        self.rows = max(1, min(GROWTH * self.rows, by_bytes, by_time, MOST))
