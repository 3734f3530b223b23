"""Bilinear resampling of one image, compiled: the bits of `ps.image.resize`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

from penstock.kernels.compiled.arithmetic import compute

_IMAGES = [types.Array(kind, 1, "C", readonly=True) for kind in (types.uint8, types.float32)]
_PLACES = types.uint64[::1]
"""Without a sign, so that nothing is asked about numbers below zero."""
_SHARES = _LINE = types.float32[::1]


@njit(
    types.void(
        types.float64, types.int64, types.float64, types.int64, types.int64, _PLACES, _PLACES, _SHARES
    ),
    nogil=True,
    cache=True,
)
def places(
    length: Any, count: Any, start: Any, first: Any, step: Any, low: Any, high: Any, share: Any
) -> None:
    """As `neighbours` of `image/resize.py`, from the pixel `first` on and in items, `step` a pixel."""
    scale = np.float32(np.float32(length) / np.float32(len(low)))
    half = np.float32(0.5)
    for i in range(len(low)):
        centre = np.float32(np.float32(np.float32(i) + half) * scale)
        at = np.float32(np.float32(centre - half) + np.float32(start))
        below = np.float32(np.floor(at))
        low[i] = (max(int(below), 0) + first) * step
        high[i] = (min(int(np.ceil(at)), count - 1) + first) * step
        share[i] = at - below


@njit(
    [
        types.void(image, types.uint64, _LINE, types.int64, _PLACES, _PLACES, _SHARES, _LINE)
        for image in _IMAGES
    ],
    nogil=True,
    cache=True,
)
def _across(
    image: Any, start: Any, row: Any, channels: int, left: Any, right: Any, share: Any, out: Any
) -> None:
    """The items of an image from `start` on, as many as `row` has room for, at the new width."""
    for i in range(np.uint64(len(row))):  # cast once, and many at a time
        row[i] = np.float32(image[start + i])
    at = np.uint64(0)
    if channels == 3:
        for x in range(len(left)):
            a, b, part = left[x], right[x], share[x]
            for channel in range(3):  # a number that the compiler knows
                step = np.uint64(channel)
                first, second = row[a + step], row[b + step]
                out[at + step] = first + (second - first) * part
            at += np.uint64(3)
        return
    for x in range(len(left)):
        for channel in range(channels):
            step = np.uint64(channel)
            first, second = row[left[x] + step], row[right[x] + step]
            out[at] = first + (second - first) * share[x]
            at += np.uint64(1)


@njit(nogil=True, cache=True)
def _table(size: int) -> Any:
    return np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.float32)


_WINDOW = (types.int64, types.int64, types.float64, types.float64)
_AFTERWARDS = (types.boolean, types.int64[::1], types.float32[::1])


@njit(
    [
        types.void(image, types.int64, types.int64, *_WINDOW, *_WINDOW, types.float32[:, ::1], *_AFTERWARDS)
        for image in _IMAGES
    ],
    nogil=True,
    cache=True,
    error_model="numpy",
)
def resample(
    image: Any,
    width: int,
    channels: int,
    first_row: int,
    rows: int,
    top: float,
    height_of_window: float,
    first_column: int,
    columns: int,
    left: float,
    width_of_window: float,
    out: Any,
    mirrored: Any,
    codes: Any,
    constants: Any,
) -> None:
    """A window of an image at another size; the items of both lie flat, those of a pixel side by side.

    The window touches so many rows and columns from the first ones on; where it starts, and how high and
    wide it is, is counted from there. A row is brought to the new width once: neighbouring new rows share it.
    Then it is mirrored, left to right, and put through the steps of `kernels.pixels`.
    """
    above, below, down = _table(len(out))
    places(height_of_window, rows, top, first_row, width * channels, above, below, down)
    offset = np.uint64(first_column * channels)
    row = np.empty(columns * channels, np.float32)
    lefts, rights, across = _table(out.shape[1] // channels)
    places(width_of_window, columns, left, 0, channels, lefts, rights, across)
    if mirrored:
        lefts, rights, across = lefts[::-1].copy(), rights[::-1].copy(), across[::-1].copy()
    upper, lower = np.empty(out.shape[1], np.float32), np.empty(out.shape[1], np.float32)
    at_upper = at_lower = np.uint64(len(image))
    for y in range(len(out)):
        if at_lower == above[y]:
            upper, lower = lower, upper
            at_upper, at_lower = at_lower, at_upper
        if at_upper != above[y]:
            _across(image, above[y] + offset, row, channels, lefts, rights, across, upper)
            at_upper = above[y]
        if at_lower != below[y]:
            _across(image, below[y] + offset, row, channels, lefts, rights, across, lower)
            at_lower = below[y]
        line, part = out[y], down[y]
        for i in range(len(line)):
            line[i] = upper[i] + (lower[i] - upper[i]) * part
        compute(line, 0, codes, constants)
