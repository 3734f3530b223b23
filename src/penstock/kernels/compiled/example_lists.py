"""tf.train.SequenceExample on the wire: its lists of features, and the features in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from penstock.kernels.compiled.example import (
    FEATURE_LISTS,
    GUESSES,
    INDEX,
    NUMBERS,
    OTHER_COUNT,
    RAW,
    ROWS,
    check,
    locate,
    note,
    survey,
)
from penstock.kernels.compiled.wire import I8, PAIR, skip, span_at, tag_at


@njit(PAIR(I8, I8), nogil=True, cache=True)
def count_features(at: int, end: int) -> tuple[int, int]:
    """The position after a FeatureList, and how many features it has."""
    count = 0
    while at < end:
        tag, at = tag_at(at, end)
        if at >= 0:
            if tag == 10:
                count += 1
            at = skip(at, end, tag)
        if at < 0:
            return at, 0
    return at, count


@njit(I8(INDEX, INDEX, RAW, INDEX, ROWS, ROWS, ROWS, NUMBERS), nogil=True, cache=True)
def survey_lists(
    begins: Any, ends: Any, keys: Any, bounds: Any, steps: Any, first: Any, last: Any, fault: Any
) -> int:
    """Where the lists of these keys lie, and how many features they have, -1 where there is none.

    Returns how many records are right before one that is not.
    """
    number = len(bounds) - 1
    spans = np.empty((number, 2), np.int64)
    guesses = np.full(GUESSES, -1, np.int64)
    where = (keys.ctypes.data, bounds.ctypes.data, number, spans.ctypes.data, guesses.ctypes.data)
    for row in range(len(begins)):
        done = locate(begins[row], ends[row], FEATURE_LISTS, *where)
        if done < 0:
            note(fault, done, -1, 0)
            return row
        for key in range(number):
            count = -1
            first[key, row] = last[key, row] = 0
            if spans[key, 0] >= 0:
                first[key, row], last[key, row] = spans[key, 0], spans[key, 1]
                done, count = count_features(spans[key, 0], spans[key, 1])
                if done < 0:
                    note(fault, done, key, 0)
                    return row
            steps[key, row] = count
    return len(begins)


@njit(I8(INDEX, INDEX, INDEX, NUMBERS, NUMBERS), nogil=True, cache=True)
def find_features(first: Any, last: Any, steps: Any, begins: Any, ends: Any) -> int:
    """Where each feature of each list lies, in order; returns how many lists have what was counted.

    `begins` and `ends` have room for that many. A list that has not is one whose bytes have changed.
    """
    place = 0
    for row in range(len(first)):
        at, end = first[row], last[row]
        stop = place + max(steps[row], 0)
        if stop > len(begins) or stop > len(ends):
            return row
        while at < end:
            tag, at = tag_at(at, end)
            if at >= 0:
                if tag == 10:
                    begin, at = span_at(at, end)
                    if place == stop:
                        return row
                    begins[place], ends[place] = begin, at
                    place += 1
                else:
                    at = skip(at, end, tag)
            if at < 0:
                return row
        if place != stop:
            return row
    return len(first)


@njit(I8(INDEX, INDEX, I8, I8, NUMBERS, NUMBERS, NUMBERS, NUMBERS), nogil=True, cache=True)
def survey_features(
    begins: Any,
    ends: Any,
    want: int,
    need: int,
    counts: Any,
    first: Any,
    last: Any,
    fault: Any,
) -> int:
    """Look at features of one kind; returns how many are right before one that is not.

    One without values is right where any number of them is (`need` is -1).
    """
    for i in range(len(begins)):
        bad, kind, count, begin, end = survey(begins[i], ends[i])
        if bad >= 0 and (kind != 0 or need >= 0):
            bad = check(kind, count, want, need, 1, begins[i])
        if bad < 0:
            note(fault, bad, 0, count if -bad & 15 == OTHER_COUNT else kind)
            return i
        counts[i], first[i], last[i] = count, begin, end
    return len(begins)
