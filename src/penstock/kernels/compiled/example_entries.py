"""tf.train.Example and SequenceExample on the wire: every feature that there is, whatever its name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from penstock.kernels.compiled.example import (
    FEATURE_LISTS,
    FEATURES,
    GUESSES,
    INDEX,
    NUMBERS,
    RAW,
    ROWS,
    entry_at,
    key_number,
    survey,
)
from penstock.kernels.compiled.memory import number_at, put_number
from penstock.kernels.compiled.wire import BAD_TAG, FOUR, I8, PAIR, THREE, failed, span_at, tag_at
from penstock.kernels.example_entries import FEATURE, FULL, LIST, NEW_KEY, RIGHT, STEP, WIDTH, WRONG


@njit(I8(ROWS, I8, I8, I8, I8, I8, I8, I8, I8), nogil=True, cache=True)
def _put(
    out: Any, place: int, row: int, part: int, key: int, kind: int, count: int, first: int, last: int
) -> int:
    """Write an entry, if there is room for it; the next place."""
    if place < len(out):
        out[place, 0], out[place, 1], out[place, 2] = row, part, key
        out[place, 3], out[place, 4], out[place, 5], out[place, 6] = kind, count, first, last
    return place + 1


@njit(PAIR(ROWS, I8, I8, I8, I8, I8), nogil=True, cache=True)
def _put_list(out: Any, place: int, row: int, key: int, at: int, end: int) -> tuple[int, int]:
    """Write a FeatureList and the features in it; the position after it, and the next place."""
    head, steps = place, 0
    place += 1
    while at < end:
        begin = at
        tag, at = tag_at(at, end)
        if at < 0:
            return at, place
        if tag != 10:
            return failed(BAD_TAG, begin), place
        begin, stop = span_at(at, end)
        if stop < 0:
            return stop, place
        at, kind, count, first, last = survey(begin, stop)
        if at < 0:
            return at, place
        place = _put(out, place, row, STEP, key, kind, count, first, last)
        at = stop
        steps += 1
    _put(out, head, row, LIST, key, 0, steps, 0, 0)
    return at, place


@njit(FOUR(ROWS, I8, I8, I8, I8, I8, I8, I8, I8, I8), nogil=True, cache=True)
def _record(
    out: Any,
    place: int,
    row: int,
    at: int,
    end: int,
    keys: int,
    bounds: int,
    number: int,
    guesses: int,
    most: int,
) -> tuple[int, int, int, int]:
    """All entries of one record: the position after it, the next place, and a new key if one came."""
    seen = 0
    while at < end:
        begin = at
        top, at = tag_at(at, end)
        if at < 0:
            return at, place, 0, 0
        if top != FEATURES and top != FEATURE_LISTS:
            return failed(BAD_TAG, begin), place, 0, 0
        at, map_end = span_at(at, end)
        if map_end < 0:
            return map_end, place, 0, 0
        while at < map_end:
            begin = at
            tag, at = tag_at(at, map_end)
            if at < 0:
                return at, place, 0, 0
            if tag != 10:
                return failed(BAD_TAG, begin), place, 0, 0
            at, key_begin, key_size, first, last = entry_at(at, map_end)
            if at < 0:
                return at, place, 0, 0
            guess = guesses + 8 * (seen & (GUESSES - 1))
            seen += 1
            key = key_number(key_begin, key_size, keys, bounds, number, number_at(guess))
            if key < 0 and number < most:
                return at, place, key_begin, key_size + 1
            if key >= 0:
                put_number(guess, key)
            if top == FEATURE_LISTS:
                bad, place = _put_list(out, place, row, key, first, last)
            else:
                bad, kind, count, first, last = survey(first, last)
                place = _put(out, place, row, FEATURE, key, kind, count, first, last)
            if bad < 0:
                return bad, place, 0, 0
    return at, place, 0, 0


@njit(THREE(RAW, INDEX, I8, RAW, INDEX, I8, ROWS, NUMBERS), nogil=True, cache=True)
def find_entries(
    buf: Any, offsets: Any, row: int, keys: Any, bounds: Any, most: int, out: Any, fault: Any
) -> tuple[int, int, int]:
    """See `kernels.example_entries.find_entries`."""
    base, number = buf.ctypes.data, len(bounds) - 1
    guesses = np.full(GUESSES, -1, np.int64)
    place = 0
    while row < len(offsets) - 1:
        at, end = base + offsets[row], base + offsets[row + 1]
        done, after, begin, size = _record(
            out, place, row, at, end, keys.ctypes.data, bounds.ctypes.data, number, guesses.ctypes.data, most
        )
        if size > 0:
            fault[0], fault[1] = begin - base, size - 1
            return row, place, NEW_KEY
        if done < 0:
            fault[0], fault[1] = -done & 15, (-done >> 4) - at
            return row, place, WRONG
        if after > len(out):
            fault[0], fault[1] = after - place, WIDTH
            return row, place, FULL
        place = after
        row += 1
    return row, place, RIGHT
