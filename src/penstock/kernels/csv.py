"""CSV, on bytes: where the fields of records are, and the numbers and strings in them.

Each function has a compiled kernel that does the work, and a plain twin that says in other words what it
does, against which the kernel is tested.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.spans import Empty

Bytes = NDArray[np.uint8]
Index = NDArray[np.int64]
State = NDArray[np.uint8]

NEWLINE, RETURN, QUOTE = 10, 13, 34
GOOD, PLAIN_QUOTE, INNER_QUOTE, OPEN_QUOTE, FEW, MANY, MISSING, INVALID, SLOW = range(9)
"""How a record or a field is: good; a quote in a field without quotes; one inside a field that is not
doubled; a quote that is not closed; too few or too many fields; empty, or what stands for that; no number;
a float that the kernel leaves to Python."""

IGNORED, COUNTED = -1, -2
"""The column of a field that is passed over, and of one that is the next column if there is one."""


class Found:
    """Where the fields of up to `rows` records are: matrices of columns by rows."""

    def __init__(self, width: int, rows: int, empty: Empty = np.empty) -> None:
        self.starts = empty((width, rows), np.int64)
        self.ends = empty((width, rows), np.int64)
        self.escaped = empty((width, rows), np.bool_)
        self.bounds = empty(rows, np.int64)
        """Where each record begins."""
        self.status = empty(rows, np.uint8)
        self.where = empty(rows, np.int64)
        """For a record that is not good, the number of the field at fault, or of the fields there are."""


def scan(
    data: Bytes, last: bool, delimiter: int, quotes: bool, columns: Index, beyond: int, found: Found
) -> tuple[int, int]:
    """Find complete records from the start of `data`, up to as many as `found` has room for.

    A record ends with a newline, a return or both; with `last`, at the end as well. Field number i goes to
    column `columns[i]`, those after them to `beyond`. Returns the records, and the bytes that they took.
    """
    from penstock.kernels.compiled import csv

    rows, used = csv.scan(
        data,
        last,
        delimiter,
        quotes,
        columns,
        beyond,
        found.starts,
        found.ends,
        found.escaped,
        found.bounds,
        found.status,
        found.where,
    )
    return int(rows), int(used)


def plain_scan(
    data: bytes, last: bool, delimiter: bytes, quotes: bool
) -> tuple[list[tuple[int, list[bytes]]], int]:
    """The records of `data`, each with its state and all its fields, unquoted; and the bytes they took."""
    stop = re.escape(delimiter) + rb"\r\n"
    plain = re.compile(rb"[^" + stop + rb"]*")
    closing = re.compile(rb'"(?!")(?=[' + stop + rb"]" + (rb"|\Z" if last else rb"") + rb")")
    records: list[tuple[int, list[bytes]]] = []
    at = used = 0
    state = GOOD
    fields: list[bytes] = []
    while at < len(data) or fields:
        if quotes and data[at : at + 1] == b'"':
            end, inner = _plain_close(data, at + 1, closing)
            text = data[at + 1 : end]
            state = state or (INNER_QUOTE if inner else GOOD)
            if end == len(data):
                state = state or OPEN_QUOTE
                at = end
            else:
                at = end + 1
        else:
            match = plain.match(data, at)
            assert match is not None
            text, at = match[0], match.end()
            if quotes and b'"' in text:
                state = state or PLAIN_QUOTE
        fields.append(text.replace(b'""', b'"') if quotes else text)
        if data[at : at + 1] == delimiter:
            at += 1
            continue
        ending = re.compile(rb"\r\n|\r|\n").match(data, at)
        if not last and (ending is None or (ending[0] == b"\r" and ending.end() == len(data))):
            return records, used
        at = used = ending.end() if ending else at
        records.append((state, fields))
        state, fields = GOOD, []
    return records, used


def _plain_close(data: bytes, at: int, closing: re.Pattern[bytes]) -> tuple[int, bool]:
    """Where the quote is that closes a field, and whether one before it should have been doubled."""
    inner = False
    while at < len(data):
        if data[at : at + 2] == b'""':
            at += 2
        elif closing.match(data, at):
            return at, inner
        else:
            inner = inner or (data[at : at + 1] == b'"' and at + 1 < len(data))
            at += 1
    return len(data), inner


def integers(
    data: Bytes, starts: Index, ends: Index, absent: Bytes, low: int, high: int, out: Index, state: State
) -> None:
    """The whole numbers of fields, from `low` to `high`; `state` says where there is none, and why."""
    from penstock.kernels.compiled import csv

    csv.integers(data, starts, ends, absent, low, high, out, state)


def plain_integer(text: bytes, low: int, high: int) -> int | None:
    """The whole number that a field is; None if it is none."""
    found = re.fullmatch(rb"\s*([+-]?[0-9]+)\s*", text)
    value = None if found is None else int(found[1])
    return value if value is not None and low <= value <= high else None


def floats(
    data: Bytes, starts: Index, ends: Index, absent: Bytes, out: NDArray[np.float64], state: State
) -> None:
    """The numbers of fields, as Python's `float` reads them; `state` says where there is none."""
    from penstock.kernels.compiled import csv

    csv.floats(data, starts, ends, absent, out, state)
    for row in np.flatnonzero(state == SLOW).tolist():
        value = plain_float(data[starts[row] : ends[row]].tobytes())
        state[row] = INVALID if value is None else GOOD
        out[row] = 0.0 if value is None else value


def plain_float(text: bytes) -> float | None:
    """The number that a field is; None if it is none."""
    if b"_" in text:  # which Python allows between digits
        return None
    try:
        return float(text)
    except ValueError:
        return None


def strings(
    data: Bytes, starts: Index, ends: Index, escaped: Any, absent: Bytes, filling: Bytes, state: State
) -> tuple[Bytes, Index]:
    """The strings of fields end to end, doubled quotes made one, and their offsets.

    Where there is none, `state` says so, and `filling` is in its place.
    """
    from penstock.kernels.compiled import csv

    room = int((ends - starts).sum()) + len(filling) * len(starts)
    out = np.empty(room, np.uint8)
    offsets = np.zeros(len(starts) + 1, np.int64)
    size = csv.strings(data, starts, ends, escaped, absent, filling, out, offsets, state)
    # A field is read whole before what stands for it is put there, so there was room; now let it go.
    return out[:size].copy() if 2 * size < room else out[:size], offsets
