"""The frames of TFRecord files: a record's length and its checksum, the record and its checksum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.core import cgutils as untyped_cgutils
from numba.extending import intrinsic

from penstock.kernels.compiled.crc32c import BYTES, address, crc32c_span, load64
from penstock.kernels.crc32c import MASK
from penstock.kernels.frames import FOOT, HEAD, LIMIT, SHORT, TOO_LONG, WRONG_DATA, WRONG_LENGTH

_cgutils: Any = untyped_cgutils
_FLAT = types.uint8[::1]
_INT = types.int64
_UNFRAME = "UniTuple(int64, 4)(uint8[::1], int64, int64, uint8[::1], int64, int64[::1], int64)"
_LOCATE = "UniTuple(int64, 4)(Array(uint8, 1, 'C', True), int64, int64, int64, int64[::1])"
_FRAME = (
    "UniTuple(int64, 2)(Array(uint8, 1, 'C', True), Array(int64, 1, 'C', True), int64, uint8[::1], int64)"
)


def _move_made(typingctx: Any, out: Any, place: Any, data: Any, at: Any, size: Any) -> Any:  # noqa: ARG001
    """Copy `size` bytes, which may overlap; nothing is checked."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        into = address(context, builder, signature.args[0], args[0], args[1])
        start = address(context, builder, signature.args[2], args[2], args[3])
        _cgutils.raw_memmove(builder, into, start, args[4], 1)
        return context.get_dummy_value()

    return types.void(out, _INT, data, _INT, _INT), generate


_move: Any = intrinsic(_move_made)


@njit(types.uint32(types.uint32), nogil=True, cache=True)
def _masked(crc: Any) -> Any:
    turned = (np.uint64(crc) >> np.uint64(15)) | (np.uint64(crc) << np.uint64(17))
    return np.uint32((turned + np.uint64(MASK)) & np.uint64(0xFFFFFFFF))


@njit(types.uint32(BYTES, _INT), nogil=True, cache=True)
def _load32(data: Any, at: Any) -> Any:
    return (
        np.uint32(data[at])
        | np.uint32(data[at + 1]) << np.uint32(8)
        | np.uint32(data[at + 2]) << np.uint32(16)
        | np.uint32(data[at + 3]) << np.uint32(24)
    )


@njit(types.void(_FLAT, _INT, types.uint64, _INT), nogil=True, cache=True)
def _store(out: Any, place: Any, value: Any, size: Any) -> None:
    for i in range(size):
        out[place + i] = np.uint8(value >> np.uint64(8 * i) & np.uint64(255))


@njit(_INT(BYTES, _INT), nogil=True, cache=True)
def _length(data: Any, at: Any) -> Any:
    """The length in the head at `at`; -1 where its checksum is wrong."""
    if _masked(crc32c_span(data, at, at + 8)) != _load32(data, at + 8):
        return np.int64(-1)
    length = load64(data, at)
    return np.int64(length) if length < np.uint64(TOO_LONG) else np.int64(TOO_LONG)


@njit(_UNFRAME, nogil=True, cache=True)
def unframe(data: Any, start: Any, stop: Any, out: Any, place: Any, offsets: Any, most: Any) -> Any:
    """See `kernels.frames.unframe`."""
    at = start
    rows = 0
    offsets[0] = place
    while rows < most:
        if stop - at < HEAD:
            return rows, at, SHORT, HEAD
        length = _length(data, at)
        if length < 0:
            return rows, at, WRONG_LENGTH, HEAD
        size = HEAD + length + FOOT
        if stop - at < size:
            return rows, at, SHORT, size
        if len(out) - place < length:
            return rows, at, LIMIT, size
        first = at + HEAD
        last = first + length
        if _masked(crc32c_span(data, first, last)) != _load32(data, last):
            return rows, at, WRONG_DATA, size
        _move(out, place, data, first, length)
        place += length
        at += size
        rows += 1
        offsets[rows] = place
    return rows, at, LIMIT, 0


@njit(_LOCATE, nogil=True, cache=True)
def locate(data: Any, start: Any, stop: Any, base: Any, offsets: Any) -> Any:
    """See `kernels.frames.locate`."""
    at = start
    rows = 0
    while rows < len(offsets):
        if stop - at < HEAD:
            return rows, at, SHORT, HEAD
        length = _length(data, at)
        if length < 0:
            return rows, at, WRONG_LENGTH, HEAD
        offsets[rows] = base + at
        rows += 1
        at += HEAD + length + FOOT
    return rows, at, LIMIT, 0


@njit(_FRAME, nogil=True, cache=True)
def frame(values: Any, offsets: Any, row: Any, out: Any, place: Any) -> Any:
    """See `kernels.frames.frame`."""
    while row < len(offsets) - 1:
        first, last = offsets[row], offsets[row + 1]
        length = last - first
        if len(out) - place < HEAD + length + FOOT:
            break
        _store(out, place, np.uint64(length), 8)
        _store(out, place + 8, np.uint64(_masked(crc32c_span(out, place, place + 8))), 4)
        _move(out, place + HEAD, values, first, length)
        end = place + HEAD + length
        _store(out, end, np.uint64(_masked(crc32c_span(values, first, last))), FOOT)
        place = end + FOOT
        row += 1
    return row, place
