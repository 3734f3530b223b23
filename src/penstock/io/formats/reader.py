"""The contract of a format: one open file as blocks of elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.blocks.block import Block


class Reader(ABC):
    """One open file at work: sequential, simple, and knowing no thread.

    As with a running op, an `ElementError` has used up one element and the next pull goes on after it,
    where the format can find the next element; where it cannot, the file ends there. Errors name the
    file and the byte offset.
    """

    @abstractmethod
    def pull(self, rows: int) -> Block | None:
        """From one up to `rows` rows, never more; None at the end, and then always None."""

    def state(self) -> Any:
        """Where in the file it stands, between two pulls; None if that cannot be told, or not now."""
        return None

    def restore(self, state: Any) -> None:
        """Go to where another reader of the file was; called once, before the first pull."""
        raise NotImplementedError(f"{type(self).__name__} begins at the beginning ({state})")

    @abstractmethod
    def close(self) -> None:
        """Close the file and let go of every buffer. May be called more than once."""
