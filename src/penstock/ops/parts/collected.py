"""Sources whose elements come one by one, from something that is not ours."""

from __future__ import annotations

from abc import abstractmethod

from penstock.blocks.block import Block
from penstock.errors import ElementError
from penstock.graph.running import Running
from penstock.ops.parts.collect import Collector


class CollectedSource(Running):
    """Collects elements until they fill a block; an error comes in its place, after those before it."""

    def __init__(self, made: Collector) -> None:
        self._made = made
        self._error: ElementError | None = None
        self._ended = False

    def pull(self, rows: int) -> Block | None:
        while True:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if self._ended:
                return None
            try:
                self._make(rows)
            except ElementError as error:
                self._error = error.with_traceback(None)  # its frames hold elements
            block = self._made.block()
            if block is not None:
                return block

    @abstractmethod
    def _make(self, rows: int) -> None:
        """Collect up to so many elements, fewer if they fill a block."""
