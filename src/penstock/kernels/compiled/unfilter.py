"""The filters of PNG undone, compiled: the twin of `kernels/unfilter.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
_CODED = types.Array(types.uint8, 1, "C", readonly=True)
_LINE = types.uint8[::1]


@njit(types.uint8(types.uint8, types.int32, types.int32, types.int32), nogil=True, cache=True)
def _paeth(byte: Any, left: Any, up: Any, corner: Any) -> Any:
    to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    # Without branches, which nobody could foretell.
    nearest = corner + (up - corner) * np.int32(to_up <= to_corner)
    nearest += (left - nearest) * np.int32((to_left <= to_up) & (to_left <= to_corner))
    return np.uint8(byte + nearest)


@njit(types.void(_CODED, types.int64, _LINE, _LINE), nogil=True, cache=True)
def _undo_paeth(coded: Bytes, pixel: int, above: Bytes, line: Bytes) -> None:
    width = len(line)
    zero = np.uint8(0)
    if pixel == 3 and width % 3 == 0:  # side by side, as no channel waits for another
        a = b = c = left_a = left_b = left_c = zero
        for i in range(0, width, 3):
            left_a = _paeth(coded[i], left_a, above[i], a)
            left_b = _paeth(coded[i + 1], left_b, above[i + 1], b)
            left_c = _paeth(coded[i + 2], left_c, above[i + 2], c)
            a, b, c = above[i], above[i + 1], above[i + 2]
            line[i], line[i + 1], line[i + 2] = left_a, left_b, left_c
        return
    for first in range(min(pixel, width)):
        left = corner = zero
        for i in range(first, width, pixel):
            left = _paeth(coded[i], left, above[i], corner)
            corner = above[i]
            line[i] = left


@njit(types.void(_CODED, types.int64, _LINE, _LINE), nogil=True, cache=True)
def _undo_mean(coded: Bytes, pixel: int, above: Bytes, line: Bytes) -> None:
    for first in range(min(pixel, len(line))):
        left = np.int32(0)
        for i in range(first, len(line), pixel):
            left = np.int32(coded[i] + ((left + np.int32(above[i])) >> 1)) & np.int32(255)
            line[i] = left


@njit(types.int64(_CODED, types.int64, types.int64, types.uint8[:, ::1]), nogil=True, cache=True)
def unfilter(coded: Bytes, start: int, pixel: int, out: Bytes) -> int:
    """As the twin's; `coded` must have all the rows."""
    rows, width = out.shape
    above = np.zeros(width, np.uint8)
    for row in range(rows):
        at = start + row * (width + 1) + 1
        kind, source, line = coded[at - 1], coded[at : at + width], out[row]
        if kind == 0:
            line[:] = source
        elif kind == 1:
            line[:pixel] = source[:pixel]
            for i in range(pixel, width):
                line[i] = source[i] + line[i - pixel]
        elif kind == 2:
            for i in range(width):
                line[i] = source[i] + above[i]
        elif kind == 3:
            _undo_mean(source, pixel, above, line)
        elif kind == 4:
            _undo_paeth(source, pixel, above, line)
        else:
            return row
        above = line
    return -1
