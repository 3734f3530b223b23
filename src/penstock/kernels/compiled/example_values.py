"""The values of features whose places are known, out of the records into arrays.

`first`, `last` and `counts` are what `example.survey` gives; `places` says where in the result a feature's
values begin. Nothing is written but in the room that was counted, whatever the bytes are by now.
"""

from __future__ import annotations

from typing import Any

from numba import njit, types

from penstock.kernels.compiled.example import BYTES, FLOATS, INDEX, INTS, NUMBERS, RAW
from penstock.kernels.compiled.memory import byte_at, copy, copy_word, put_number
from penstock.kernels.compiled.wire import I8, THREE, skip, span_at, tag_at

U4 = types.uint32[::1]
U1 = types.uint8[::1]


@njit(I8(I8, I8, I8, I8), nogil=True, cache=True)
def ints_of_run(at: int, end: int, out: int, limit: int) -> int:
    """Decode varints, no further than `limit`; returns the address after the last number, or -1."""
    while at < end:
        byte = byte_at(at)
        at += 1
        value, shift = byte & 127, 7
        while byte >= 128 and at < end:
            byte = byte_at(at)
            at += 1
            value |= (byte & 127) << shift
            shift += 7
        if out >= limit:
            return -1
        put_number(out, value)
        out += 8
    return out


@njit(THREE(I8, I8, I8, I8), nogil=True, cache=True)
def next_run(at: int, end: int, stop: int, want: int) -> tuple[int, int, int]:
    """The next run of values in lists of one kind: where it begins and ends, and the end of its list.

    At first `stop` is `at`. Where there is no more run, it begins at -1; at -2 if the bytes are not
    what `survey` has seen.
    """
    while True:
        while at < stop:
            tag, at = tag_at(at, stop)
            if at < 0:
                return -2, at, stop
            begin = at
            if tag == 10:
                begin, at = span_at(at, stop)
            else:
                at = skip(at, stop, tag)
            if at < 0:
                return -2, at, stop
            if tag == 10 or (tag == 8 and want == INTS) or (tag == 13 and want == FLOATS):
                return begin, at, stop
        if at >= end:
            return -1, at, stop
        tag, at = tag_at(at, end)
        if at >= 0 and tag != 10 and tag != 18 and tag != 26:
            at = stop = skip(at, end, tag)
            if at >= 0:
                continue
        if at < 0 or tag >> 3 != want:
            return -2, at, stop
        at, stop = span_at(at, end)
        if stop < 0:
            return -2, at, stop


@njit(I8(I8, I8, I8, I8, I8), nogil=True, cache=True)
def fill_runs(at: int, end: int, want: int, out: int, limit: int) -> int:
    """The numbers of several runs, no further than `limit`; the address after the last, or -1."""
    stop = at
    while True:
        begin, at, stop = next_run(at, end, stop, want)
        if begin < 0:
            return out if begin == -1 else -1
        if want == INTS:
            out = ints_of_run(begin, at, out, limit)
            if out < 0:
                return -1
        else:
            if at - begin > limit - out:
                return -1
            copy(out, begin, at - begin)
            out += at - begin


@njit(I8(INDEX, INDEX, INDEX, INDEX, NUMBERS), nogil=True, cache=True)
def fill_ints(first: Any, last: Any, counts: Any, places: Any, out: Any) -> int:
    """Decode the whole numbers of every feature; returns how many features have what was counted."""
    base = out.ctypes.data
    for i in range(len(first)):
        count = max(counts[i], 0)
        if places[i] < 0 or places[i] > len(out) - count:
            return i
        place = base + 8 * places[i]
        limit = place + 8 * count
        if first[i] >= 0:
            done = ints_of_run(first[i], last[i], place, limit)
        else:
            done = fill_runs(-1 - first[i], last[i], INTS, place, limit)
        if done != limit:
            return i
    return len(first)


@njit(I8(INDEX, INDEX, INDEX, INDEX, U4), nogil=True, cache=True)
def fill_floats(first: Any, last: Any, counts: Any, places: Any, out: Any) -> int:
    """Copy the floats of every feature, bit by bit; returns how many features have what was counted."""
    base = out.ctypes.data
    for i in range(len(first)):
        count = max(counts[i], 0)
        if places[i] < 0 or places[i] > len(out) - count:
            return i
        place, size = base + 4 * places[i], 4 * count
        if first[i] < 0:
            if fill_runs(-1 - first[i], last[i], FLOATS, place, place + size) != place + size:
                return i
        elif last[i] - first[i] != size:
            return i
        elif size == 4:
            copy_word(place, first[i])
        else:
            copy(place, first[i], size)
    return len(first)


@njit(I8(INDEX, INDEX, INDEX, INDEX, NUMBERS, NUMBERS), nogil=True, cache=True)
def find_strings(first: Any, last: Any, counts: Any, places: Any, begins: Any, lengths: Any) -> int:
    """Where every string of every feature lies, and how long it is.

    Returns how many features have what was counted.
    """
    room = min(len(begins), len(lengths))
    for i in range(len(first)):
        count, place = max(counts[i], 0), places[i]
        if place < 0 or place > room - count:
            return i
        if first[i] >= 0:
            if count > 1:
                return i
            if count == 1:
                begins[place] = first[i]
                lengths[place] = last[i] - first[i]
            continue
        at = stop = -1 - first[i]
        limit = place + count
        while True:
            begin, at, stop = next_run(at, last[i], stop, BYTES)
            if begin < 0:
                break
            if place == limit:
                return i
            begins[place] = begin
            lengths[place] = at - begin
            place += 1
        if begin != -1 or place != limit:
            return i
    return len(first)


@njit(types.void(RAW, INDEX, INDEX, U1), nogil=True, cache=True)
def copy_strings(other: Any, begins: Any, offsets: Any, out: Any) -> None:
    """Copy strings end to end; those that begin at `-1 - i` come from `other`."""
    base, other_base = out.ctypes.data, other.ctypes.data
    for i in range(min(len(begins), len(offsets) - 1)):
        if not 0 <= offsets[i] <= offsets[i + 1] <= len(out):
            return
        begin = begins[i] if begins[i] >= 0 else other_base - 1 - begins[i]
        copy(base + offsets[i], begin, offsets[i + 1] - offsets[i])
