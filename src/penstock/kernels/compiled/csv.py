"""CSV: where the fields of records are, and the numbers and strings in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from penstock.kernels.compiled.decimals import decimal
from penstock.kernels.csv import (
    COUNTED,
    FEW,
    GOOD,
    INNER_QUOTE,
    INVALID,
    MANY,
    MISSING,
    NEWLINE,
    OPEN_QUOTE,
    PLAIN_QUOTE,
    QUOTE,
    RETURN,
    SLOW,
)


@njit(nogil=True, cache=True)
def _end_of_quoted(data: Any, i: Any, last: Any, delimiter: Any) -> Any:
    """Where the quote is that closes the field from `i` on, or the end; whether there is one, whether some
    inside are doubled, and whether one should have been."""
    size = len(data)
    doubled = inner = False
    while True:
        while i < size and data[i] != QUOTE:
            i += 1
        if i + 1 >= size:
            return i, i < size and last, doubled, inner
        follows = data[i + 1]
        if follows == QUOTE:
            doubled = True
            i += 1
        elif follows in (delimiter, NEWLINE, RETURN):
            return i, True, doubled, inner
        else:
            inner = True
        i += 1


@njit(nogil=True, cache=True)
def _end_of_plain(data: Any, i: Any, delimiter: Any, quotes: Any) -> Any:
    """Where the field from `i` on ends, and whether there is a quote in it."""
    quoted = False
    while i < len(data):
        letter = data[i]
        if letter in (delimiter, NEWLINE, RETURN):
            break
        quoted |= quotes and letter == QUOTE
        i += 1
    return i, quoted


@njit(nogil=True, cache=True)
def scan(
    data: Any,
    last: Any,
    delimiter: Any,
    quotes: Any,
    columns: Any,
    beyond: Any,
    starts: Any,
    ends: Any,
    escaped: Any,
    bounds: Any,
    status: Any,
    where: Any,
) -> Any:
    """As `penstock.kernels.csv.scan`, which says what it does."""
    width, most = starts.shape
    size = len(data)
    at = row = 0
    while row < most and at < size:
        bounds[row] = at
        i = at
        field = seen = bad = 0
        state = GOOD
        while True:
            fault = GOOD
            doubled = False
            if quotes and i < size and data[i] == QUOTE:
                first = i + 1
                stop, closed, doubled, inner = _end_of_quoted(data, first, last, delimiter)
                i = stop + 1 if closed else size
                fault = INNER_QUOTE if inner else GOOD if closed else OPEN_QUOTE
            else:
                first = i
                stop, inner = _end_of_plain(data, i, delimiter, quotes)
                i = stop
                fault = PLAIN_QUOTE if inner else GOOD
            if i >= size and not last:
                return row, at
            column = columns[field] if field < len(columns) else beyond
            if column == COUNTED:
                if seen < width:
                    column = seen
                elif fault == GOOD:
                    fault = MANY
            if column >= 0:
                starts[column, row] = first
                ends[column, row] = stop
                escaped[column, row] = doubled
                seen += 1
            if fault != GOOD and (state == GOOD or (state == MANY and fault != MANY)):
                state, bad = fault, field
            if i >= size or data[i] != delimiter:
                break
            field += 1
            i += 1
        if i < size:
            if data[i] == RETURN:
                if i + 1 >= size and not last:
                    return row, at
                if i + 1 < size and data[i + 1] == NEWLINE:
                    i += 1
            i += 1
        if seen < width and state == GOOD:
            state, bad = FEW, seen
        status[row] = state
        where[row] = bad
        row += 1
        at = i
    return row, at


@njit(nogil=True, cache=True)
def _trimmed(data: Any, first: Any, stop: Any) -> Any:
    while first < stop and (data[first] == 32 or 9 <= data[first] <= 13):
        first += 1
    while first < stop and (data[stop - 1] == 32 or 9 <= data[stop - 1] <= 13):
        stop -= 1
    return first, stop


@njit(nogil=True, cache=True)
def _missing(data: Any, first: Any, stop: Any, absent: Any) -> Any:
    if first == stop:
        return True
    if stop - first != len(absent):
        return False
    for i in range(len(absent)):  # noqa: SIM110
        if data[first + i] != absent[i]:
            return False
    return True


@njit(nogil=True, cache=True)
def integers(
    data: Any, starts: Any, ends: Any, absent: Any, low: Any, high: Any, out: Any, state: Any
) -> Any:
    """As `penstock.kernels.csv.integers`."""
    for row in range(len(starts)):
        if _missing(data, starts[row], ends[row], absent):
            state[row] = MISSING
            continue
        first, stop = _trimmed(data, starts[row], ends[row])
        negative = first < stop and data[first] == 45
        if first < stop and (data[first] == 45 or data[first] == 43):
            first += 1
        state[row] = GOOD if first < stop else INVALID
        value = np.uint64(0)
        limit = np.uint64(-(low + 1)) + np.uint64(1) if negative else np.uint64(high)
        for i in range(first, stop):
            digit = np.uint64(data[i]) - np.uint64(48)
            if digit > np.uint64(9) or value > (limit - digit) // np.uint64(10):
                state[row] = INVALID
                break
            value = value * np.uint64(10) + digit
        signed = np.int64(value)
        out[row] = -signed if negative else signed


@njit(nogil=True, cache=True)
def floats(data: Any, starts: Any, ends: Any, absent: Any, out: Any, state: Any) -> Any:
    """As `penstock.kernels.csv.floats`, but for those that are left to Python."""
    for row in range(len(starts)):
        if _missing(data, starts[row], ends[row], absent):
            state[row] = MISSING
            continue
        first, stop = _trimmed(data, starts[row], ends[row])
        sound, value = decimal(data, first, stop)
        state[row] = GOOD if sound else SLOW
        out[row] = value


@njit(nogil=True, cache=True)
def strings(
    data: Any,
    starts: Any,
    ends: Any,
    escaped: Any,
    absent: Any,
    filling: Any,
    out: Any,
    offsets: Any,
    state: Any,
) -> Any:
    """As `penstock.kernels.csv.strings`."""
    place = 0
    for row in range(len(starts)):
        begin = place
        i = starts[row]
        stop = ends[row]
        if escaped[row]:
            while i < stop:
                out[place] = data[i]
                place += 1
                if data[i] == QUOTE and i + 1 < stop and data[i + 1] == QUOTE:
                    i += 1
                i += 1
        else:
            for k in range(i, stop):
                out[place] = data[k]
                place += 1
        state[row] = GOOD
        if _missing(out, begin, place, absent):
            state[row] = MISSING
            place = begin
            for k in range(len(filling)):
                out[place] = filling[k]
                place += 1
        offsets[row + 1] = place
    return place
