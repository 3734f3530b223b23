"""The bytes of a stored file in order, unpacked if it is compressed, a bounded piece at a time."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from typing import IO, Any, cast

from penstock.errors import DataError, PenstockError
from penstock.graph.running import Context
from penstock.io.stores.opening import open_stored
from penstock.io.stores.stored import Stored
from penstock.io.stores.zstd_frames import Frames

COMPRESSIONS = (None, "", "GZIP", "ZLIB", "ZSTD")
"""What `compression_type` may be; None and "" are for files that are not compressed."""
PIECE = 64 << 10
"""So many packed bytes are read at a time."""
WINDOW = 8 << 20
"""The most that unpacking Zstandard may look back, and so keep: what every reader of it must take."""


class Stream(ABC):
    """The bytes of one file from the first to the last."""

    stored: Stored
    """The file, which `close` closes."""

    seekable = False
    """Whether it can be read from any place on."""

    def seek(self, offset: int) -> None:
        """Go to a byte of the file, if it is `seekable`."""
        raise NotImplementedError(f"no place of a compressed file can be gone to ({offset})")

    @abstractmethod
    def read_into(self, out: memoryview) -> int:
        """Fill `out` with the next bytes; how many there were, fewer only at the end.

        A `DataError` means that the rest cannot be unpacked: what came before it has been delivered, and
        nothing comes after it. `StoreError` where the store cannot give the bytes.
        """

    def close(self) -> None:
        """Let go of the file. May be called more than once."""
        self.stored.close()


def open_stream(path: str, compression: str | None, context: Context) -> Stream:
    """The file at `path`, unpacked; its errors carry `context.label` and `context.where`."""
    return stream_of(context.read_ahead(open_stored(path, context)), compression, context)


def stream_of(stored: Stored, compression: str | None, context: Context) -> Stream:
    """The bytes of an open file, unpacked; closes the file if it cannot be."""
    try:
        if not compression:
            return Plain(stored)
        if compression == "ZSTD":
            return Zstandard(stored, context)
        return Deflated(stored, context, gzip=compression == "GZIP")
    except BaseException:
        stored.close()
        raise


class Plain(Stream):
    """A file that is not compressed."""

    seekable = True

    def __init__(self, stored: Stored) -> None:
        self.stored = stored
        self._at = 0

    def seek(self, offset: int) -> None:
        self._at = offset

    def read_into(self, out: memoryview) -> int:
        count = self.stored.read_into(self._at, out)
        self._at += count
        return count


class Unpacked(Stream):
    """A compressed file. It holds one piece of it packed, and what the caller asks for unpacked."""

    packing: str

    def __init__(self, stored: Stored, context: Context) -> None:
        self.stored = stored
        self._label, self._where = context.label, context.where
        self._at = 0
        self._error: DataError | None = None
        self._ended = False

    @abstractmethod
    def unpack_into(self, out: memoryview) -> int:
        """Fill some of `out`, which has room; 0 at the end.

        `ValueError` if the file is damaged: what came, and what to do if that is not as always.
        """

    def read_into(self, out: memoryview) -> int:
        done = 0
        while done < len(out) and not self._ended:
            try:
                count = self.unpack_into(out[done:])
            except ValueError as error:
                count, self._error = 0, self._damaged(*error.args)
            done += count
            self._ended = count == 0
        if not done and self._error is not None:
            failed, self._error = self._error, None
            raise failed
        return done

    def read(self, size: int = PIECE) -> bytes:
        """The next packed bytes."""
        packed = self.stored.read(self._at, min(size, PIECE))
        self._at += len(packed)
        return packed

    def _damaged(
        self, why: str, remedy: str = "Is compression_type right, and the file complete?"
    ) -> DataError:
        return DataError(
            f"{self._where}: {self.stored.path} before byte {self._at}: expected {self.packing} data, {why}. "
            f"{remedy}",
            op=self._label,
            file=self.stored.path,
            offset=self._at,
        )


class Deflated(Unpacked):
    """Gzip, in one member or several, or zlib."""

    def __init__(self, stored: Stored, context: Context, *, gzip: bool) -> None:
        super().__init__(stored, context)
        self.packing = "GZIP" if gzip else "ZLIB"
        self._bits = 31 if gzip else 15
        self._unpacker = zlib.decompressobj(self._bits)
        self._packed = b""

    def unpack_into(self, out: memoryview) -> int:
        data = b""
        while not data:
            packed = self._packed or self.read()
            if self._unpacker.eof:
                if not packed:
                    return 0
                self._packed = packed = self._next_member(packed)
                if not packed:
                    continue
            try:
                data = self._unpacker.decompress(packed, len(out))
            except zlib.error as error:
                raise ValueError(f"got bytes that are none ({error})") from None
            if not packed and not data and not self._unpacker.eof:
                raise ValueError("got a file that is cut off")
            ended = self._unpacker.eof
            self._packed = self._unpacker.unused_data if ended else self._unpacker.unconsumed_tail
        out[: len(data)] = data
        return len(data)

    def _next_member(self, packed: bytes) -> bytes:
        """What follows the end of a member, to be unpacked as another one."""
        if self.packing == "ZLIB":
            raise ValueError("got bytes after its end")
        packed = packed.lstrip(b"\0")  # members may be padded
        if packed:
            self._unpacker = zlib.decompressobj(self._bits)
        return packed


class Zstandard(Unpacked):
    """Zstandard, in one frame or several."""

    packing = "ZSTD"

    def __init__(self, stored: Stored, context: Context) -> None:
        super().__init__(stored, context)
        try:
            import zstandard
        except ImportError as error:
            raise PenstockError(
                f"{context.where}: to read files with compression_type='ZSTD', install zstandard: "
                f"pip install zstandard, or pip install '.[zstd]' in Penstock's clone."
            ) from error
        self._failure = zstandard.ZstdError
        unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW)
        self._reader: Any = unpacker.stream_reader(
            cast(IO[bytes], self), PIECE, read_across_frames=True, closefd=False
        )
        self._frames = Frames()

    def read(self, size: int = PIECE) -> bytes:
        packed = super().read(size)
        self._frames.feed(packed)
        return packed

    def unpack_into(self, out: memoryview) -> int:
        try:
            count: int = self._reader.readinto(out)
        except self._failure as error:
            if "too much memory" in str(error):
                raise ValueError(
                    f"got some that is unpacked with more than {WINDOW >> 20} MiB of what came before",
                    "Pack it anew with a level up to 19, without --ultra and --long.",
                ) from None
            raise ValueError(f"got bytes that are none ({error})") from None
        if count == 0 and not self._frames.whole:
            raise ValueError("got a file that is cut off")
        return count

    def close(self) -> None:
        super().close()
        self._reader = None  # it refers to this object, in a circle that the collector does not see
