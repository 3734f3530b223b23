"""TFRecord files made by hand, byte by byte, as their format is described."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterable
from functools import cache

POLYNOMIAL = 0x82F63B78


@cache
def _of_byte(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


def checksum(data: bytes) -> bytes:
    """The masked CRC-32C of some bytes, as a file holds it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _of_byte((crc ^ byte) & 255) ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    turned = (crc >> 15 | crc << 17) & 0xFFFFFFFF
    return struct.pack("<I", (turned + 0xA282EAD8) & 0xFFFFFFFF)


def head(length: int) -> bytes:
    """What stands before a record of that length."""
    packed = struct.pack("<Q", length)
    return packed + checksum(packed)


def framed(*records: bytes) -> bytes:
    """A file of these records."""
    return b"".join(head(len(record)) + record + checksum(record) for record in records)


def offsets(records: Iterable[bytes]) -> list[int]:
    """Where the frames of these records begin, and where the last one ends."""
    out = [0]
    for record in records:
        out.append(out[-1] + 16 + len(record))
    return out


def packed(data: bytes, compression: str | None) -> bytes:
    """A file compressed by the libraries themselves."""
    if compression == "GZIP":
        return gzip.compress(data, 6)
    if compression == "ZLIB":
        return zlib.compress(data)
    if compression == "ZSTD":
        import zstandard

        return zstandard.ZstdCompressor(write_checksum=True).compress(data)
    return data
