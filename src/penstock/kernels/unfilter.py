"""The filters of PNG undone: each byte was stored as its distance to those before and above it.

A loop by nature; this is the plain twin of `compiled/unfilter.py`, which does the work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


def unfilter(coded: Bytes, start: int, pixel: int, out: Bytes) -> int:
    """Undo the filters of the rows that lie from `start` on, into `out`, a row of bytes for each.

    Each row starts with the number of its filter; `pixel` is how many bytes lie between a byte and the
    one before that it was compared with. Returns the first row of an unknown filter, or -1.
    """
    rows, width = out.shape
    above = [0] * (width + pixel)
    for row in range(rows):
        at = start + row * (width + 1)
        kind = int(coded[at])
        if kind > 4:
            return row
        line = [0] * pixel  # what lies left of the image is zero
        for i, byte in enumerate(coded[at + 1 : at + 1 + width].tolist()):
            left, up, corner = line[i], above[i + pixel], above[i]
            line.append((byte + (0, left, up, (left + up) >> 1, paeth(left, up, corner))[kind]) & 255)
        out[row] = line[pixel:]
        above = line
    return -1


def paeth(left: int, up: int, corner: int) -> int:
    """Whichever of the three is nearest to `left + up - corner`; of equals, the first."""
    to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    if to_left <= to_up and to_left <= to_corner:
        return left
    return up if to_up <= to_corner else corner
