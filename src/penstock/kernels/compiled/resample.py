"""Bilinear resampling of one image, compiled: the bits of `ps.image.resize`."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from penstock.kernels.compiled.arithmetic import compute

_IMAGES = [types.Array(kind, 1, "C", readonly=True) for kind in (types.uint8, types.float32)]
_PLACES = types.uint64[::1]
"""Without a sign, so that nothing is asked about numbers below zero."""
_SHARES = _LINE = types.float32[::1]
PIXEL = 4
"""So many numbers are computed at once where a pixel has three: those after a line are no pixel's."""


def _blend_made(typing: Any, first: Any, second: Any, share: Any, out: Any) -> Any:  # noqa: ARG001
    """Write what lies between two pixels at addresses, by a share; one number more is read and written."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        kind = ir.VectorType(ir.FloatType(), PIXEL)
        first, second, out = (builder.inttoptr(args[i], kind.as_pointer()) for i in (0, 1, 3))
        share = builder.load(builder.inttoptr(args[2], ir.FloatType().as_pointer()), align=4)
        shares = ir.Constant(kind, ir.Undefined)
        for i in range(PIXEL):
            shares = builder.insert_element(shares, share, ir.Constant(ir.IntType(32), i))
        low, high = builder.load(first, align=4), builder.load(second, align=4)
        between = builder.fadd(low, builder.fmul(builder.fsub(high, low), shares))
        builder.store(between, out, align=4)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), generate


_blend: Any = intrinsic(_blend_made)


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
    """As `neighbours` of `image/neighbours.py`, from the pixel `first` on and in items, `step` a pixel."""
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
    """The items of an image from `start` on, as many as `row` has room for, at the new width.

    Both lines have room for `PIXEL` more.
    """
    for i in range(np.uint64(len(row) - PIXEL)):  # cast once, and many at a time
        row[i] = np.float32(image[start + i])
    at = np.uint64(0)
    if channels == 3:
        line, part, target = row.ctypes.data, share.ctypes.data, np.int64(out.ctypes.data)
        for x in range(np.uint64(len(left))):
            _blend(line + 4 * np.int64(left[x]), line + 4 * np.int64(right[x]), part, target)
            part += np.uint64(4)
            target += 12
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


_SMALL = [types.Array(kind, 2, "C", readonly=True) for kind in (types.uint8, types.float32)]
_PIXELS, _WEIGHTS = types.int64[:, ::1], types.float32[:, ::1]


@njit(
    [types.void(image, types.int64, _PIXELS, _WEIGHTS, _PIXELS, _WEIGHTS, _WEIGHTS) for image in _SMALL],
    nogil=True,
    cache=True,
)
def weigh(image: Any, channels: int, columns: Any, across: Any, rows: Any, down: Any, out: Any) -> None:
    """An image made smaller: each new pixel weighs as many old ones as the tables have lines."""
    line = np.empty((len(image), out.shape[1]), np.float32)
    for y in range(len(image)):
        at = 0
        for x in range(columns.shape[1]):
            for channel in range(channels):
                total = np.float32(0)
                for i in range(len(columns)):
                    total += np.float32(image[y, columns[i, x] * channels + channel]) * across[i, x]
                line[y, at] = total
                at += 1
    for y in range(len(out)):
        target = out[y]
        target[:] = 0
        for i in range(len(rows)):
            source, weight = line[rows[i, y]], down[i, y]
            for x in range(len(target)):
                target[x] += source[x] * weight


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
    row = np.empty(columns * channels + PIXEL, np.float32)
    row[len(row) - PIXEL :] = 0
    lefts, rights, across = _table(out.shape[1] // channels)
    places(width_of_window, columns, left, 0, channels, lefts, rights, across)
    if mirrored:
        lefts, rights, across = lefts[::-1].copy(), rights[::-1].copy(), across[::-1].copy()
    width_of_line = out.shape[1] + PIXEL
    upper, lower = np.empty(width_of_line, np.float32), np.empty(width_of_line, np.float32)
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
        for i in range(np.uint64(len(line))):
            line[i] = upper[i] + (lower[i] - upper[i]) * part
        compute(line, 0, codes, constants)
