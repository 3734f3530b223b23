"""From frames to the bytes of a file: as they are, or compressed in pieces side by side.

A file's bytes depend on its records alone, and not on how they came: pieces are cut at fixed places.
"""

from __future__ import annotations

import struct
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future

from penstock.errors import ArgumentError
from penstock.io.stores.decompress import COMPRESSIONS
from penstock.io.tfrecord_options import TFRecordOptions
from penstock.site import user_site

PIECE = 512 << 10
"""So many bytes are compressed at a time."""
WINDOW = 32 << 10
"""So far back may a piece refer, as zlib has it."""
WORKING = 2 * PIECE + (320 << 10)
"""What one piece needs while it is compressed: itself, the outcome, and zlib's own state."""

Put = Callable[[bytes | memoryview], object]


def compression_of(compression: str | None) -> str | None:
    """The compression that the user asked for; None for none."""
    if compression not in COMPRESSIONS:
        raise ArgumentError(
            f"write_tfrecord(compression=) at {user_site()}: expected None or one of "
            f"{', '.join(repr(one) for one in COMPRESSIONS if one)}, got {compression!r}."
        )
    TFRecordOptions(compression).packer()  # says what to install where that is needed
    return compression or None


class Packing(ABC):
    """Takes the bytes of a file in order, and puts what they become where it belongs."""

    @abstractmethod
    def feed(self, data: memoryview) -> None:
        """So many bytes more."""

    def end(self) -> None:  # noqa: B027
        """That was all: put what is left."""


class Plain(Packing):
    """Bytes as they are."""

    def __init__(self, put: Put) -> None:
        self._put = put

    def feed(self, data: memoryview) -> None:
        self._put(data)


class InPieces(Packing):
    """Each piece is compressed by itself, with up to `most` of them on their way at once."""

    head = b""

    def __init__(self, put: Put, executor: Executor, most: int) -> None:
        self._put = put
        self._executor = executor
        self._most = most
        self._piece = bytearray()
        self._earlier = b""
        self._line: deque[Future[bytes]] = deque()
        self._put(self.head)

    def feed(self, data: memoryview) -> None:
        while data:
            if len(self._piece) == PIECE:
                self._compress(last=False)
            room = PIECE - len(self._piece)
            self._piece += data[:room]
            data = data[room:]

    def end(self) -> None:
        self._compress(last=True)
        while self._line:
            self._put(self._line.popleft().result())
        self._put(self.foot())

    def _compress(self, *, last: bool) -> None:
        if len(self._line) >= self._most:
            self._put(self._line.popleft().result())
        piece, self._piece = self._piece, bytearray()
        self.count(piece)
        self._line.append(self._executor.submit(self.packed, piece, self._earlier, last))
        self._earlier = bytes(piece[-WINDOW:])

    def count(self, piece: bytearray) -> None:
        """Note what the foot needs to know of a piece."""

    def foot(self) -> bytes:
        """What stands at the end of the file."""
        return b""

    @staticmethod
    @abstractmethod
    def packed(piece: bytearray, earlier: bytes, last: bool) -> bytes:
        """A piece, compressed; `earlier` is what stands right before it."""


def _deflated(piece: bytearray, earlier: bytes, last: bool) -> bytes:
    """A part of one stream: it ends at a whole byte, and refers back to what stands before it."""
    made = zlib.compressobj(wbits=-zlib.MAX_WBITS, zdict=earlier) if earlier else _first()
    return made.compress(piece) + made.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)


def _first() -> zlib._Compress:
    return zlib.compressobj(wbits=-zlib.MAX_WBITS)


class Gzip(InPieces):
    """One gzip member."""

    head = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    packed = staticmethod(_deflated)

    def __init__(self, put: Put, executor: Executor, most: int) -> None:
        self._sum = self._size = 0
        super().__init__(put, executor, most)

    def count(self, piece: bytearray) -> None:
        self._sum = zlib.crc32(piece, self._sum)
        self._size += len(piece)

    def foot(self) -> bytes:
        return struct.pack("<II", self._sum, self._size & 0xFFFFFFFF)


class Zlib(InPieces):
    """One zlib stream."""

    head = b"\x78\x9c"
    packed = staticmethod(_deflated)

    def __init__(self, put: Put, executor: Executor, most: int) -> None:
        self._sum = 1
        super().__init__(put, executor, most)

    def count(self, piece: bytearray) -> None:
        self._sum = zlib.adler32(piece, self._sum)

    def foot(self) -> bytes:
        return struct.pack(">I", self._sum)


class Zstandard(InPieces):
    """A Zstandard frame a piece."""

    @staticmethod
    def packed(piece: bytearray, earlier: bytes, last: bool) -> bytes:  # noqa: ARG004
        import zstandard

        return zstandard.ZstdCompressor(level=3, write_checksum=True).compress(piece)


KINDS: dict[str, type[InPieces]] = {"GZIP": Gzip, "ZLIB": Zlib, "ZSTD": Zstandard}
