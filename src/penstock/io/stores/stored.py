"""The contract of a stored file: bytes by range, whatever the store."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Stored(ABC):
    """One open file of a store. It may be read from several threads at once."""

    path: str
    """As the user wrote it, for messages."""
    size: int
    """In bytes."""
    stamp: str
    """Another one when the file has changed: what an index beside the file is checked against."""
    slow: bool = False
    """Whether a read waits for a network, so that reading ahead is worth it."""
    beside: int = 0
    """The bytes that a read needs while it lasts, beside those that it fills."""

    @abstractmethod
    def read_into(self, start: int, out: memoryview) -> int:
        """Fill `out` with the bytes from `start` on; how many there were, fewer only at the end.

        `StoreError` where the store cannot give them.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the file. May be called more than once."""

    def interrupt(self) -> None:  # noqa: B027
        """End the reads that are waiting, and all that come: they raise `StoreError`.

        May be called from any thread, and does not wait. A file that never keeps one waiting needs none.
        """

    def read(self, start: int, size: int) -> bytes:
        """Up to `size` bytes from `start` on; fewer only at the end."""
        out = bytearray(max(0, min(size, self.size - start)))
        count = self.read_into(start, memoryview(out))
        return bytes(out[:count])

    def __enter__(self) -> Stored:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
