"""CRC-32C of bytes that come in parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.kernels.crc32c import TABLES, crc32c

STATE = 4
"""The bytes of a sum."""


def crc32c_after(before: int, data: Any) -> int:
    """The sum of bytes and `data` after them, where `before` is the sum of those bytes; 0 for none.

    >>> hex(crc32c_after(0, b"123456789"))
    '0xe3069283'
    >>> hex(crc32c_after(crc32c_after(0, b"12345"), b"6789"))
    '0xe3069283'
    """
    flat = np.frombuffer(data, np.uint8)
    if len(flat) < STATE:
        return _byte_by_byte(before, flat.tobytes())
    # A sum goes on from another one as if that had been added to the next four bytes.
    summed = flat.copy()
    summed[:STATE] ^= np.frombuffer(before.to_bytes(STATE, "little"), np.uint8)
    return crc32c(summed)


def _byte_by_byte(before: int, data: bytes) -> int:
    crc = before ^ 0xFFFFFFFF
    for byte in data:
        crc = int(TABLES[0][(crc ^ byte) & 255]) ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF
