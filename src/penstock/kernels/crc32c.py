"""CRC-32C (Castagnoli), the checksum of TFRecord files, and how they mask it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

POLYNOMIAL = 0x82F63B78
"""Castagnoli's, its bits in reverse."""
LANE = 512
"""The bytes of each of the lanes that are summed side by side; a power of two."""
MASK = 0xA282EAD8
"""What is added to a sum that has been turned by 15 bits, so that sums of sums are sound."""

Tables = NDArray[np.uint32]


def _tables() -> Tables:
    """For each byte, what it adds to the sum when it is followed by 0 to 7 others."""
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = np.where(first & 1, (first >> 1) ^ np.uint32(POLYNOMIAL), first >> 1)
    tables = [first]
    for _ in range(7):
        last = tables[-1]
        tables.append(first[last & 255] ^ (last >> 8))
    return np.stack(tables)


def _shift(tables: Tables, size: int) -> Tables:
    """For each of a sum's four bytes, what it becomes after `size` bytes of zero; a power of two."""
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    after = tables[0][bits & 255] ^ (bits >> 8)  # each bit of a sum, one byte of zero later
    while size > 1:
        after = _linear(after, after)
        size //= 2
    every = np.arange(256, dtype=np.uint32)
    return np.stack([_linear(after, every << np.uint32(8 * place)) for place in range(4)])


def _linear(after: Tables, sums: Tables) -> Tables:
    """Where each bit becomes `after[bit]`, what these sums become."""
    out = np.zeros_like(sums)
    for bit in range(32):
        out ^= np.where((sums >> np.uint32(bit)) & 1, after[bit], np.uint32(0))
    return out


TABLES = _tables()
SHIFT = _shift(TABLES, LANE)


def crc32c(data: Any) -> int:
    """The sum of bytes, an array of them or another buffer."""
    from penstock.kernels.compiled.crc32c import crc32c_span

    flat = np.frombuffer(data, np.uint8)
    return int(crc32c_span(flat, 0, len(flat)))


def masked(crc: int) -> int:
    """A sum as TFRecord files store it."""
    return (((crc >> 15) | (crc << 17)) + MASK) & 0xFFFFFFFF


def plain_crc32c(data: Any) -> int:
    """`crc32c` in plain Python, byte by byte: what the compiled ones are compared with."""
    table = TABLES[0].tolist()
    crc = 0xFFFFFFFF
    for byte in bytes(data):
        crc = table[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF
