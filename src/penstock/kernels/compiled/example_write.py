"""tf.train.Example out of columns: first how long everything is, then the bytes.

A feature's `items` are its whole numbers, or the lengths of its strings; floats need none. `bounds` are
the offsets of each record's items, and a record for which `absent` is true has a feature without a kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

from penstock.kernels.compiled.example import BYTES, FLOATS, INDEX, INTS, NUMBERS, RAW
from penstock.kernels.compiled.memory import copy, put_byte
from penstock.kernels.compiled.wire import I8

OUT = types.uint8[::1]
FLAGS = types.Array(types.boolean, 1, "C", readonly=True)
LONGEST = 10
"""The bytes of the longest varint."""


@njit(I8(I8), nogil=True, cache=True)
def varint_size(number: int) -> int:
    """How many bytes a whole number takes; a negative one takes ten."""
    left = np.uint64(number)
    size = 1
    while left >= np.uint64(128):
        left >>= np.uint64(7)
        size += 1
    return size


@njit(I8(I8, I8), nogil=True, cache=True)
def put_varint(at: int, number: int) -> int:
    """Write a whole number; returns the address after it."""
    left = np.uint64(number)
    while left >= np.uint64(128):
        put_byte(at, np.int64(left & np.uint64(127)) | 128)
        at += 1
        left >>= np.uint64(7)
    put_byte(at, np.int64(left))
    return at + 1


@njit(I8(I8, I8, I8), nogil=True, cache=True)
def put_head(at: int, tag: int, size: int) -> int:
    """Write a tag and a length."""
    put_byte(at, tag)
    return put_varint(at + 1, size)


@njit(I8(I8), nogil=True, cache=True)
def wrapped(size: int) -> int:
    """The bytes of a field of that size, its tag and its length included."""
    return 1 + varint_size(size) + size


@njit(types.void(I8, INDEX, INDEX, FLAGS, I8, NUMBERS, NUMBERS), nogil=True, cache=True)
def measure(kind: int, items: Any, bounds: Any, absent: Any, key: int, payloads: Any, entries: Any) -> None:
    """The bytes of each record's values, and of its whole map entry."""
    for row in range(len(bounds) - 1):
        first, last = bounds[row], bounds[row + 1]
        size = 0
        if kind == FLOATS:
            size = 4 * (last - first)
        elif kind == INTS:
            for i in range(first, last):
                size += varint_size(items[i])
        else:
            for i in range(first, last):
                size += wrapped(items[i])
        payloads[row] = size
        if kind != BYTES and size > 0:
            size = wrapped(size)
        feature = 0 if absent[row] else wrapped(size)
        entries[row] = wrapped(wrapped(key) + wrapped(feature))


@njit(I8(I8, INDEX, RAW, INDEX, INDEX, FLAGS, RAW, INDEX, INDEX, NUMBERS, OUT), nogil=True, cache=True)
def write(
    kind: int,
    items: Any,
    raw: Any,
    begins: Any,
    bounds: Any,
    absent: Any,
    key: Any,
    payloads: Any,
    entries: Any,
    places: Any,
    out: Any,
) -> int:
    """Write each record's map entry to its place, and move the place behind it.

    `raw` has the bytes of floats, or those of strings, which begin at `begins`. Returns how many records
    are written before one whose values no longer have the bytes that were measured.
    """
    base = out.ctypes.data
    for row in range(len(bounds) - 1):
        first, last, payload = bounds[row], bounds[row + 1], payloads[row]
        if places[row] < 0 or places[row] > len(out) - entries[row]:
            return row
        size = wrapped(payload) if kind != BYTES and payload > 0 else payload
        feature = 0 if absent[row] else wrapped(size)
        at = put_head(base + places[row], 10, wrapped(len(key)) + wrapped(feature))
        at = put_head(at, 10, len(key))
        copy(at, key.ctypes.data, len(key))
        at = put_head(at + len(key), 18, feature)
        if not absent[row]:
            at = put_head(at, kind << 3 | 2, size)
            if kind != BYTES and payload > 0:
                at = put_head(at, 10, payload)
            limit = at + payload
            if kind == INTS:
                for i in range(first, last):
                    if at + LONGEST > limit and at + varint_size(items[i]) > limit:
                        return row
                    at = put_varint(at, items[i])
            elif kind == FLOATS:
                if first < 0 or 4 * last > len(raw) or payload != 4 * (last - first):
                    return row
                copy(at, raw.ctypes.data + 4 * first, payload)
                at += payload
            else:
                for i in range(first, last):
                    size, begin = items[i], begins[i]
                    if not 0 <= size <= len(raw) or not 0 <= begin <= len(raw) - size:
                        return row
                    if at + wrapped(size) > limit:
                        return row
                    at = put_head(at, 10, size)
                    copy(at, raw.ctypes.data + begin, size)
                    at += size
            if at != limit:
                return row
        places[row] = at - base
    return len(bounds) - 1


@njit(types.void(INDEX, NUMBERS), nogil=True, cache=True)
def whole_sizes(bodies: Any, sizes: Any) -> None:
    """The bytes of each record, from those of all its entries."""
    for row in range(len(bodies)):
        sizes[row] = wrapped(bodies[row])


@njit(types.void(INDEX, INDEX, NUMBERS, OUT), nogil=True, cache=True)
def write_heads(bodies: Any, offsets: Any, places: Any, out: Any) -> None:
    """Write the beginning of each record, and note the place behind it."""
    base = out.ctypes.data
    for row in range(len(bodies)):
        places[row] = put_head(base + offsets[row], 10, bodies[row]) - base
