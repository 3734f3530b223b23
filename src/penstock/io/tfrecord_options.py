"""How TFRecord files are written: `ps.io.TFRecordOptions`."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.errors import ArgumentError, PenstockError
from penstock.graph import checks
from penstock.io.stores.decompress import COMPRESSIONS
from penstock.site import user_site

BUFFER = 256 << 10


class Packer(Protocol):
    """What compresses a stream of bytes."""

    def compress(self, data: Any, /) -> bytes:
        """What is ready, after so much more."""

    def flush(self, mode: int = ..., /) -> bytes:
        """What is held back; without a mode, to the end."""


@dataclass(frozen=True)
class TFRecordOptions:
    """How a TFRecord file is written: compressed or not, and how.

    `compression_type` is None or "" for none, "GZIP", "ZLIB" or "ZSTD" (the extra `zstd`), and
    `compression_level` its level. The rest is for GZIP and ZLIB, with the meaning that `zlib` gives it, but
    for the sizes of the two buffers: the writer has one, as large as the larger of them, 256 KiB by default.

    >>> import penstock as ps
    >>> ps.io.TFRecordOptions("GZIP", compression_level=9).compression_type
    'GZIP'
    """

    compression_type: str | None = None
    flush_mode: int | None = None
    input_buffer_size: int | None = None
    output_buffer_size: int | None = None
    window_bits: int | None = None
    compression_level: int | None = None
    compression_method: int | None = None
    mem_level: int | None = None
    compression_strategy: int | None = None

    def __post_init__(self) -> None:
        if self.compression_type not in COMPRESSIONS:
            raise ArgumentError(
                f"TFRecordOptions(compression_type=) at {user_site()}: expected None or one of "
                f"{', '.join(repr(one) for one in COMPRESSIONS if one)}, got {self.compression_type!r}."
            )
        for name in ("input_buffer_size", "output_buffer_size"):
            value = getattr(self, name)
            if value is not None:
                checks.count(value, f"TFRecordOptions({name}=)", least=1)
        try:
            if self.compression_type in ("GZIP", "ZLIB"):
                self.packer()
        except (ValueError, TypeError, zlib.error) as error:
            raise ArgumentError(
                f"TFRecordOptions at {user_site()}: expected settings that zlib takes, got {self} ({error})."
            ) from None

    @property
    def buffer_size(self) -> int:
        """The bytes that are gathered before they are written."""
        return max(self.input_buffer_size or 0, self.output_buffer_size or 0) or BUFFER

    def packer(self) -> Packer | None:
        """What compresses the file; None where nothing does."""
        level = self.compression_level
        if not self.compression_type:
            return None
        if self.compression_type == "ZSTD":
            return _zstandard(3 if level is None else level)
        bits = zlib.MAX_WBITS if self.window_bits is None else self.window_bits
        return zlib.compressobj(
            -1 if level is None else level,
            zlib.DEFLATED if self.compression_method is None else self.compression_method,
            bits + 16 if self.compression_type == "GZIP" and bits <= zlib.MAX_WBITS else bits,
            zlib.DEF_MEM_LEVEL if self.mem_level is None else self.mem_level,
            zlib.Z_DEFAULT_STRATEGY if self.compression_strategy is None else self.compression_strategy,
        )

    def flushed(self, packer: Packer) -> bytes:
        """What a packer holds back, in the middle of a file."""
        if self.compression_type == "ZSTD":
            return packer.flush(1)  # zstandard.COMPRESSOBJ_FLUSH_BLOCK
        return packer.flush(zlib.Z_SYNC_FLUSH if self.flush_mode is None else self.flush_mode)


def _zstandard(level: int) -> Packer:
    try:
        import zstandard
    except ImportError as error:
        raise PenstockError(
            "To write files with compression_type='ZSTD', install zstandard: "
            "pip install zstandard, or pip install '.[zstd]' in Penstock's clone."
        ) from error
    packer: Packer = zstandard.ZstdCompressor(level=level, write_checksum=True).compressobj()
    return packer
