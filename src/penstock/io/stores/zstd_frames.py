"""Where the frames of Zstandard data end: its libraries do not say whether the last one is complete."""

from __future__ import annotations

from collections.abc import Callable

SKIPPABLE = 0x184D2A5
"""The magic number of a frame that holds no data, without its last four bits."""


class Frames:
    """Follows packed bytes from header to header (RFC 8878, section 3.1)."""

    def __init__(self) -> None:
        self._read: Callable[[int], None] = self._magic
        self._need = 4
        self._head = bytearray()
        self._skip = 0
        self._checksum = 0
        self._any = False

    @property
    def whole(self) -> bool:
        """Whether there was a frame, and the last one is complete."""
        return self._any and self._read == self._magic and not self._head and not self._skip

    def feed(self, packed: bytes) -> None:
        """Follow the next bytes."""
        at = 0
        while at < len(packed):
            if self._skip:
                step = min(self._skip, len(packed) - at)
                self._skip -= step
            else:
                step = min(self._need - len(self._head), len(packed) - at)
                self._head += packed[at : at + step]
                if len(self._head) == self._need:
                    value = int.from_bytes(self._head, "little")
                    self._head.clear()
                    self._read(value)
            at += step

    def _expect(self, need: int, read: Callable[[int], None]) -> None:
        self._need, self._read = need, read

    def _magic(self, value: int) -> None:
        self._any = True
        if value >> 4 == SKIPPABLE:
            self._expect(4, self._skipped)
        else:
            self._expect(1, self._descriptor)

    def _skipped(self, size: int) -> None:
        self._skip = size
        self._expect(4, self._magic)

    def _descriptor(self, bits: int) -> None:
        single = bits >> 5 & 1
        sizes = (single, 2, 4, 8)
        self._checksum = 4 * (bits >> 2 & 1)
        self._skip = 1 - single + (0, 1, 2, 4)[bits & 3] + sizes[bits >> 6]
        self._expect(3, self._block)

    def _block(self, header: int) -> None:
        repeated = header >> 1 & 3 == 1
        self._skip = 1 if repeated else header >> 3
        if header & 1:
            self._skip += self._checksum
            self._expect(4, self._magic)
