"""Every feature of tf.train.Example and SequenceExample records, whatever its name."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Index = NDArray[np.int64]

FEATURE, STEP, LIST = range(3)
"""What an entry is: a feature of the record (or of its context), one of a list, or the list itself."""
RIGHT, NEW_KEY, FULL, WRONG = range(4)
"""Why the kernel stopped."""
WIDTH = 7
"""The numbers of an entry: row, part, key, kind, how many values (or steps), where they begin and end."""


def find_entries(
    buf: Bytes, offsets: Index, row: int, keys: Bytes, bounds: Index, most: int, out: Index, fault: Index
) -> tuple[int, int, int]:
    """Write the entries of the records from `row` on to `out`, whole records only.

    `keys[bounds[i]:bounds[i + 1]]` are the names that are known; from `most` names on, a new one is
    entered as -1. Returns the first row that is not done, how many entries there are, and why it
    stopped: at the end; at a name that is not known, in `fault` where it begins in `buf` and its size;
    for want of room, in `fault` how many entries the record has; or at a record that is none, in
    `fault` why (as `compiled.wire` numbers it), and at which of its bytes.
    """
    from penstock.kernels.compiled import example_entries

    done: tuple[int, int, int] = example_entries.find_entries(
        buf, offsets, row, keys, bounds, most, out, fault
    )
    return done


Entry = tuple[int, bytes, int, list[Any]]
"""A part, a name, a kind (1: bytes, 2: floats, 3: whole numbers, 0: none), and the values."""


def plain_entries(record: bytes) -> list[Entry]:
    """The entries of one record with their values, in plain Python; ValueError if it is none.

    The values of a `LIST` are as many Nones as it has steps.
    """
    found: list[Entry] = []
    for top, body in _fields(record):
        if top not in (10, 18):
            raise ValueError(f"a field with the tag {top}")
        for tag, entry in _fields(body):
            if tag != 10:
                raise ValueError(f"a field with the tag {tag} in a map")
            name, value = _map_entry(entry)
            if top == 10:
                found.append((FEATURE, name, *_feature(value)))
                continue
            steps = list(_fields(value))
            if any(tag != 10 for tag, _ in steps):
                raise ValueError("another field in a list of features")
            found.append((LIST, name, 0, [None] * len(steps)))
            found += [(STEP, name, *_feature(step)) for _, step in steps]
    return found


def _map_entry(data: bytes) -> tuple[bytes, bytes]:
    name, values = b"", []
    for tag, body in _fields(data):
        if tag == 10:
            name = body
        elif tag == 18:
            values.append(body)
    if len(values) > 1:
        raise ValueError("a map entry with two values")
    return name, values[0] if values else b""


def _feature(data: bytes) -> tuple[int, list[Any]]:
    kind, values = 0, list[Any]()
    for tag, body in _fields(data):
        if tag not in (10, 18, 26):
            continue
        if tag >> 3 != kind:
            kind, values = tag >> 3, []
        for inner, run in _fields(body):
            values += _values(kind, inner, run)
    return kind, values


def _values(kind: int, tag: int, run: Any) -> list[Any]:
    if kind == 1:
        return [run] if tag == 10 else []
    if kind == 2:
        if tag != 10:
            return list(struct.unpack("<f", run)) if tag == 13 else []
        if len(run) % 4:
            raise ValueError("part of a float")
        return list(struct.unpack(f"<{len(run) // 4}f", run))
    if tag != 10:
        return [_signed(run)] if tag == 8 else []
    found, at = [], 0
    while at < len(run):
        value, at = _varint(run, at)
        found.append(_signed(value))
    return found


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: the tag, and the bytes, or the number of a varint. Groups are refused."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if not 8 <= tag <= 0xFFFFFFFF or tag & 7 not in (0, 1, 2, 5):
            raise ValueError(f"the tag {tag}")
        if tag & 7 == 0:
            value, at = _varint(data, at)
            yield tag, value
            continue
        size = {1: 8, 5: 4}.get(tag & 7, 0)
        if tag & 7 == 2:
            size, at = _varint(data, at)
        if size > len(data) - at:
            raise ValueError("a message that is cut off")
        yield tag, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value & (1 << 64) - 1, at
    raise ValueError("a varint that does not end")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
