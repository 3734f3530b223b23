"""tf.train.Example on the wire: where the features that are asked for lie, and how many values they have.

    Example         { Features features = 1; }
    SequenceExample { Features context = 1; FeatureLists feature_lists = 2; }
    Features        { map<string, Feature> feature = 1; }
    FeatureLists    { map<string, FeatureList> feature_list = 1; }
    FeatureList     { repeated Feature feature = 1; }
    Feature         { oneof { BytesList = 1; FloatList = 2; Int64List = 3; } }

One pass over the records looks at everything that can be wrong, so that filling cannot fail.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

from penstock.kernels.compiled.memory import byte_at, number_at, put_number
from penstock.kernels.compiled.wire import CUT, FIVE, I8, LONG_VARINT, failed, skip, span_at, tag_at

BYTES, FLOATS, INTS = 1, 2, 3
"""The kinds of a feature: its field's number."""

TWO_VALUES = 5
"""A map entry with two values."""
PART_OF_A_FLOAT = 6
"""Packed floats whose bytes are no multiple of four."""
OTHER_KIND = 7
"""A feature of another kind than asked for."""
OTHER_COUNT = 8
"""A feature with another number of values than asked for, or no multiple of it."""
MISSING = 9
"""A feature that is not there, and that must be."""

GUESSES = 64
"""So many places are remembered, a power of two."""
FEATURES, FEATURE_LISTS = 10, 18
"""The tags of what a record holds."""

RAW = types.Array(types.uint8, 1, "C", readonly=True)
INDEX = types.Array(types.int64, 1, "C", readonly=True)
NUMBERS = types.int64[::1]
ROWS = types.int64[:, ::1]


@njit(I8(I8, I8, I8, I8, I8, I8), nogil=True, cache=True)
def key_number(begin: int, size: int, keys: int, bounds: int, number: int, guess: int) -> int:
    """Which of the keys these bytes are, -1 if none; the one guessed is looked at first.

    `keys` and `bounds` are the addresses of the keys' bytes and of their offsets.
    """
    for attempt in range(-1, number):
        key = guess if attempt < 0 else attempt
        if key < 0:
            continue
        base = number_at(bounds + 8 * key)
        if number_at(bounds + 8 * key + 8) - base != size:
            continue
        base, same = base + keys, 0
        while same < size and byte_at(base + same) == byte_at(begin + same):
            same += 1
        if same == size:
            return key
    return -1


@njit(FIVE(I8, I8), nogil=True, cache=True)
def entry_at(at: int, end: int) -> tuple[int, int, int, int, int]:
    """A map entry: the position after it, where its key begins and how long it is, where its value lies."""
    at, entry_end = span_at(at, end)
    if entry_end < 0:
        return entry_end, 0, 0, 0, 0
    key, key_end, begin, stop = at, at, at, -1
    while at < entry_end:
        tag, at = tag_at(at, entry_end)
        if at < 0:
            return at, 0, 0, 0, 0
        if tag == 10:
            key, key_end = span_at(at, entry_end)
            at = key_end
        elif tag == 18:
            if stop >= 0:
                return failed(TWO_VALUES, at), 0, 0, 0, 0
            begin, stop = span_at(at, entry_end)
            at = stop
        else:
            at = skip(at, entry_end, tag)
        if at < 0:
            return at, 0, 0, 0, 0
    return entry_end, key, key_end - key, begin, max(stop, begin)


@njit(I8(I8, I8, I8, I8, I8, I8, I8, I8), nogil=True, cache=True)
def locate(at: int, end: int, top: int, keys: int, bounds: int, number: int, spans: int, guesses: int) -> int:
    """Where the values of so many keys lie in one record; a span begins at -1 if its key is not there.

    Of a key that comes twice the last counts. `guesses` remembers which key came at which place. All
    but `top`, the tag of the map, and `number` are addresses.
    """
    for key in range(number):
        put_number(spans + 16 * key, -1)
    place = 0
    while at < end:
        tag, at = tag_at(at, end)
        if at < 0:
            return at
        if tag != top:
            at = skip(at, end, tag)
            if at < 0:
                return at
            continue
        at, map_end = span_at(at, end)
        if map_end < 0:
            return map_end
        while at < map_end:
            tag, at = tag_at(at, map_end)
            if at >= 0 and tag != 10:
                at = skip(at, map_end, tag)
                if at >= 0:
                    continue
            if at < 0:
                return at
            at, key_begin, key_size, begin, stop = entry_at(at, map_end)
            if at < 0:
                return at
            guess = guesses + 8 * (place & (GUESSES - 1))
            key = key_number(key_begin, key_size, keys, bounds, number, number_at(guess))
            if key >= 0:
                put_number(guess, key)
                put_number(spans + 16 * key, begin)
                put_number(spans + 16 * key + 8, stop)
            place += 1
    return at


@njit(I8(I8, I8), nogil=True, cache=True)
def count_varints(at: int, end: int) -> int:
    """How many varints lie in these bytes; negative if the last is cut or one is too long."""
    count = 0
    for i in range(at, end):
        count += byte_at(i) < 128
    if at < end and byte_at(end - 1) >= 128:
        return failed(CUT, end - 1)
    if count < end - at:
        size = 0
        for i in range(at, end):
            size = size + 1 if byte_at(i) >= 128 else 0
            if size == 10:
                return failed(LONG_VARINT, i - 9)
    return count


@njit(FIVE(I8, I8), nogil=True, cache=True)
def survey(at: int, end: int) -> tuple[int, int, int, int, int]:
    """What a Feature holds: the position after it, its kind, how many values, and where they lie.

    They lie in one run of bytes; or, where there are several, the rest of the Feature is given from the
    first list on that counts, its begin as `-1 - begin`: all lists from there on are of that kind.
    """
    whole = at
    kind = count = runs = first = last = 0
    while at < end:
        field = at
        tag, at = tag_at(at, end)
        if at < 0:
            return at, 0, 0, 0, 0
        if tag != 10 and tag != 18 and tag != 26:
            at = skip(at, end, tag)
            if at < 0:
                return at, 0, 0, 0, 0
            continue
        if tag >> 3 != kind:
            # Of several kinds the last counts, and one that comes again begins anew; values of one kind
            # are added to one another.
            kind, whole = tag >> 3, field
            count = runs = 0
        at, stop = span_at(at, end)
        if stop < 0:
            return stop, 0, 0, 0, 0
        while at < stop:
            tag, at = tag_at(at, stop)
            if at < 0:
                return at, 0, 0, 0, 0
            begin, more = at, 0
            if tag == 10:
                begin, at = span_at(at, stop)
                if at < 0:
                    return at, 0, 0, 0, 0
                if kind == BYTES:
                    more = 1
                elif kind == INTS:
                    more = count_varints(begin, at)
                    if more < 0:
                        return more, 0, 0, 0, 0
                else:
                    if (at - begin) & 3:
                        return failed(PART_OF_A_FLOAT, begin), 0, 0, 0, 0
                    more = (at - begin) >> 2
            else:
                if (tag == 8 and kind == INTS) or (tag == 13 and kind == FLOATS):
                    more = 1
                at = skip(at, stop, tag)
                if at < 0:
                    return at, 0, 0, 0, 0
            if more > 0:
                count += more
                runs += 1
                first, last = begin, at
    if runs == 0:
        return end, kind, 0, 0, 0
    if runs > 1:
        return end, kind, count, -1 - whole, end
    return end, kind, count, first, last


@njit(I8(I8, I8, I8, I8, I8, I8), nogil=True, cache=True)
def check(kind: int, count: int, want: int, need: int, stride: int, at: int) -> int:
    """Hold a feature to the kind and the number of values that are asked for."""
    if kind != want:
        return failed(OTHER_KIND, at)
    if (need >= 0 and count != need) or (stride > 1 and count % stride != 0):
        return failed(OTHER_COUNT, at)
    return 0


@njit(types.void(NUMBERS, I8, I8, I8), nogil=True, cache=True)
def note(fault: Any, bad: int, slot: int, got: int) -> None:
    """Say what failed: the code, the address of the byte, the slot, and what came."""
    fault[0] = -bad & 15
    fault[1] = -bad >> 4
    fault[2] = slot
    fault[3] = got


@njit(I8(INDEX, INDEX, RAW, INDEX, ROWS, ROWS, ROWS, ROWS, NUMBERS), nogil=True, cache=True)
def survey_examples(
    begins: Any,
    ends: Any,
    keys: Any,
    bounds: Any,
    slots: Any,
    counts: Any,
    first: Any,
    last: Any,
    fault: Any,
) -> int:
    """Look at the records between these addresses; returns how many are right before one that is not.

    A row of `slots` is what is asked for: the number of the key, the kind, how many values (-1: any),
    of which number they are a multiple, and whether it may be missing; then its count is -1.
    """
    number = len(bounds) - 1
    spans = np.empty((number, 2), np.int64)
    guesses = np.full(GUESSES, -1, np.int64)
    where = (keys.ctypes.data, bounds.ctypes.data, number, spans.ctypes.data, guesses.ctypes.data)
    for row in range(len(begins)):
        at = begins[row]
        done = locate(at, ends[row], FEATURES, *where)
        if done < 0:
            note(fault, done, -1, 0)
            return row
        for slot in range(len(slots)):
            key = slots[slot, 0]
            kind, count, begin, end, bad = 0, 0, 0, 0, 0
            if spans[key, 0] >= 0:
                bad, kind, count, begin, end = survey(spans[key, 0], spans[key, 1])
            if bad >= 0:
                if kind == 0:
                    bad = 0 if slots[slot, 4] else failed(MISSING, at)
                    count = -1
                else:
                    bad = check(kind, count, slots[slot, 1], slots[slot, 2], slots[slot, 3], spans[key, 0])
            if bad < 0:
                note(fault, bad, slot, count if -bad & 15 == OTHER_COUNT else kind)
                return row
            counts[slot, row] = count
            first[slot, row] = begin
            last[slot, row] = end
    return len(begins)
