"""Protocol buffers on the wire: varints, tags and lengths, and fields that nobody asked for.

Positions are addresses, each held to the end of the message around it. What cannot be read comes back
as a negative position, which says what is wrong and where: see `failed`.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from penstock.kernels.compiled.memory import byte_at

CUT = 1
"""The message ends in the middle of a field."""
LONG_VARINT = 2
"""A varint of more than ten bytes."""
BAD_TAG = 3
"""A tag without a field number, of an unknown wire type, or beyond 32 bits."""
BAD_GROUP = 4
"""A group that ends with another number, or too many of them in one another."""
GROUPS = 100
"""So many groups may be in one another, as in protobuf itself."""

I8 = types.int64
PAIR, THREE, FOUR, FIVE = (types.UniTuple(I8, n) for n in (2, 3, 4, 5))  # type: ignore[no-untyped-call]


@njit(I8(I8, I8), nogil=True, cache=True)
def failed(code: int, at: int) -> int:
    """A position that says what cannot be read, and where."""
    return -(at * 16 + code)


@njit(PAIR(I8, I8), nogil=True, cache=True)
def long_varint(at: int, end: int) -> tuple[int, int]:
    """`varint`, of any length."""
    begin, value, shift = at, 0, 0
    while at < end:
        byte = byte_at(at)
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            return 0, failed(LONG_VARINT, begin)
    return 0, failed(CUT, begin)


@njit(PAIR(I8, I8), nogil=True, cache=True)
def varint(at: int, end: int) -> tuple[int, int]:
    """A varint's 64 bits as a whole number with a sign, and the position after it."""
    # Most have one byte. Only what is as short as this is compiled into its callers.
    if at < end and byte_at(at) < 128:
        return byte_at(at), at + 1
    return long_varint(at, end)


@njit(PAIR(I8, I8), nogil=True, cache=True)
def long_tag(at: int, end: int) -> tuple[int, int]:
    """`tag_at`, of any length."""
    tag, after = long_varint(at, end)
    if after >= 0 and not 8 <= tag <= 0xFFFFFFFF:
        return 0, failed(BAD_TAG, at)
    return tag, after


@njit(PAIR(I8, I8), nogil=True, cache=True)
def tag_at(at: int, end: int) -> tuple[int, int]:
    """A field's tag and the position after it."""
    if at < end and 8 <= byte_at(at) < 128:
        return byte_at(at), at + 1
    return long_tag(at, end)


@njit(PAIR(I8, I8), nogil=True, cache=True)
def span_at(at: int, end: int) -> tuple[int, int]:
    """Where the bytes of a field with a length begin and end; the end is negative if they do not fit."""
    size, begin = varint(at, end)
    if begin < 0:
        return 0, begin
    if size < 0 or size > end - begin:
        return 0, failed(CUT, at)
    return begin, begin + size


@njit(I8(I8, I8, I8), nogil=True, cache=True)
def skip_plain(at: int, end: int, tag: int) -> int:
    """The position after a field that is no group, whose tag has been read."""
    wire = tag & 7
    if wire == 0:
        return varint(at, end)[1]
    if wire == 2:
        return span_at(at, end)[1]
    if wire != 1 and wire != 5:
        return failed(BAD_TAG, at - 1)
    after = at + (8 if wire == 1 else 4)
    return after if after <= end else failed(CUT, at)


@njit(I8(I8, I8, I8), nogil=True, cache=True)
def skip_group(at: int, end: int, number: int) -> int:
    """The position after a group of that number, whose first tag has been read, and all that is in it."""
    begin = at
    inside = np.empty(GROUPS, np.int64)
    inside[0] = number
    depth = 1
    while depth > 0:
        tag, at = tag_at(at, end)
        if at < 0:
            return at
        if tag & 7 == 3:
            if depth == GROUPS:
                return failed(BAD_GROUP, begin)
            inside[depth] = tag >> 3
            depth += 1
        elif tag & 7 == 4:
            depth -= 1
            if inside[depth] != tag >> 3:
                return failed(BAD_GROUP, begin)
        else:
            at = skip_plain(at, end, tag)
            if at < 0:
                return at
    return at


@njit(I8(I8, I8, I8), nogil=True, cache=True)
def skip(at: int, end: int, tag: int) -> int:
    """The position after a field whose tag has been read."""
    return skip_group(at, end, tag >> 3) if tag & 7 == 3 else skip_plain(at, end, tag)
