"""The values of features whose places are known, out of the records into arrays.

`first` and `last` are addresses as `example.survey` gives them; `places` says where in the result a
feature's values begin.
"""

from __future__ import annotations

from typing import Any

from numba import njit, types

from penstock.kernels.compiled.example import BYTES, FLOATS, INDEX, INTS, NUMBERS, RAW
from penstock.kernels.compiled.memory import byte_at, copy, copy_word, put_number
from penstock.kernels.compiled.wire import FOUR, I8, skip, span_at, tag_at

U4 = types.uint32[::1]
U1 = types.uint8[::1]


@njit(I8(I8, I8, I8), nogil=True, cache=True)
def ints_of_run(at: int, end: int, out: int) -> int:
    """Decode varints; returns the address after the last number."""
    while at < end:
        byte = byte_at(at)
        at += 1
        value, shift = byte & 127, 7
        while byte >= 128 and at < end:
            byte = byte_at(at)
            at += 1
            value |= (byte & 127) << shift
            shift += 7
        put_number(out, value)
        out += 8
    return out


@njit(FOUR(I8, I8, I8, I8, I8), nogil=True, cache=True)
def next_run(at: int, end: int, stop: int, kind: int, want: int) -> tuple[int, int, int, int]:
    """The next run of values of a Feature: where it begins and ends, the end of its list, the kind.

    At first `stop` is `at`; where there is no more run, it begins at -1. A list of another kind comes
    back as a run of nothing, so that the caller forgets what came before it.
    """
    while True:
        while at < stop:
            tag, at = tag_at(at, stop)
            begin = at
            if tag == 10:
                begin, at = span_at(at, stop)
                if kind == want:
                    return begin, at, stop, kind
            else:
                at = skip(at, stop, tag)
                if kind == want and ((tag == 8 and kind == INTS) or (tag == 13 and kind == FLOATS)):
                    return begin, at, stop, kind
        if at >= end:
            return -1, at, stop, kind
        tag, at = tag_at(at, end)
        if tag != 10 and tag != 18 and tag != 26:
            at = skip(at, end, tag)
            stop = at
            continue
        other = tag >> 3 != kind
        kind = tag >> 3
        at, stop = span_at(at, end)
        if other and kind != want:
            return at, at, stop, kind


@njit(types.void(I8, I8, I8, I8), nogil=True, cache=True)
def fill_runs(at: int, end: int, want: int, begin_out: int) -> None:
    """The numbers of a Feature in several runs."""
    stop, kind, out = at, 0, begin_out
    while True:
        begin, at, stop, kind = next_run(at, end, stop, kind, want)
        if begin < 0:
            return
        if kind != want:
            out = begin_out
        elif want == INTS:
            out = ints_of_run(begin, at, out)
        else:
            copy(out, begin, at - begin)
            out += at - begin


@njit(types.void(INDEX, INDEX, INDEX, NUMBERS), nogil=True, cache=True)
def fill_ints(first: Any, last: Any, places: Any, out: Any) -> None:
    """Decode the whole numbers of every feature."""
    base = out.ctypes.data
    for i in range(len(first)):
        if first[i] >= 0:
            ints_of_run(first[i], last[i], base + 8 * places[i])
        else:
            fill_runs(-1 - first[i], last[i], INTS, base + 8 * places[i])


@njit(types.void(INDEX, INDEX, INDEX, U4), nogil=True, cache=True)
def fill_floats(first: Any, last: Any, places: Any, out: Any) -> None:
    """Copy the floats of every feature, bit by bit."""
    base = out.ctypes.data
    for i in range(len(first)):
        place = base + 4 * places[i]
        if last[i] - first[i] == 4:
            copy_word(place, first[i])
        elif first[i] >= 0:
            copy(place, first[i], last[i] - first[i])
        else:
            fill_runs(-1 - first[i], last[i], FLOATS, place)


@njit(types.void(INDEX, INDEX, INDEX, INDEX, NUMBERS, NUMBERS), nogil=True, cache=True)
def find_strings(first: Any, last: Any, counts: Any, places: Any, begins: Any, lengths: Any) -> None:
    """Where every string of every feature lies, and how long it is."""
    for i in range(len(first)):
        if first[i] >= 0:
            if counts[i] == 1:
                begins[places[i]] = first[i]
                lengths[places[i]] = last[i] - first[i]
            continue
        at = -1 - first[i]
        stop, kind, place = at, 0, places[i]
        while True:
            begin, at, stop, kind = next_run(at, last[i], stop, kind, BYTES)
            if begin < 0:
                break
            if kind != BYTES:
                place = places[i]
                continue
            begins[place] = begin
            lengths[place] = at - begin
            place += 1


@njit(types.void(RAW, INDEX, INDEX, U1), nogil=True, cache=True)
def copy_strings(other: Any, begins: Any, offsets: Any, out: Any) -> None:
    """Copy strings end to end; those that begin at `-1 - i` come from `other`."""
    base, other_base = out.ctypes.data, other.ctypes.data
    for i in range(len(begins)):
        begin = begins[i] if begins[i] >= 0 else other_base - 1 - begins[i]
        copy(base + offsets[i], begin, offsets[i + 1] - offsets[i])
