"""The frames of TFRecord files, found, checked and made.

A frame is the record's length (8 bytes, little-endian), the masked CRC-32C of these 8 bytes (4), the record,
and the record's masked CRC-32C (4).
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.crc32c import masked, plain_crc32c

Bytes = NDArray[np.uint8]
Index = NDArray[np.int64]

HEAD = 12
"""The bytes before a record."""
FOOT = 4
"""The bytes after it."""
TOO_LONG = 1 << 61
"""A length is at least this where no file can be so long."""

LIMIT, SHORT, WRONG_LENGTH, WRONG_DATA = range(4)
"""Why a kernel stopped: at its limit; the bytes end before the record does; a checksum is wrong."""


def load() -> None:
    """Have `frame` there, with all that its first call loads.

    At the end of the process that cannot be: from Python 3.12 on, nothing is loaded then that starts threads.
    """
    frame(np.frombuffer(b"", np.uint8), np.zeros(1, np.int64), 0, np.empty(HEAD + FOOT, np.uint8), 0)


def unframe(
    data: Bytes, start: int, stop: int, out: Bytes, place: int, offsets: Index, most: int
) -> tuple[int, int, int, int]:
    """Find up to `most` records in `data[start:stop]`, check them, and lay them end to end in `out`.

    They go from `out[place]` on, while there is room; `out` may be `data` itself with `place` no further
    than `start`. Their bounds go to `offsets`, one more than there are rows. Returns the rows, where it
    stopped (`start` of a frame), why, and the size of the frame there, as far as that can be known.
    """
    from penstock.kernels.compiled import frames

    found: tuple[int, int, int, int] = frames.unframe(data, start, stop, out, place, offsets, most)
    return found


def locate(data: Bytes, start: int, stop: int, base: int, offsets: Index) -> tuple[int, int, int, int]:
    """Find where frames begin, up to `len(offsets)` of them, looking at nothing but their heads.

    `offsets` are counted from the byte `base` before `data`. Returns as `unframe`; the last frame may
    end behind `stop`, and that is then where it stopped.
    """
    from penstock.kernels.compiled import frames

    found: tuple[int, int, int, int] = frames.locate(data, start, stop, base, offsets)
    return found


def frame(values: Bytes, offsets: Index, row: int, out: Bytes, place: int) -> tuple[int, int]:
    """Frame the records `values[offsets[i]:offsets[i + 1]]` from `row` on into `out`, from `place` on.

    Returns the first row that there was no room for, and the first free place.
    """
    from penstock.kernels.compiled import frames

    done: tuple[int, int] = frames.frame(values, offsets, row, out, place)
    return done


def framed_size(length: int) -> int:
    """The bytes of a record with its frame."""
    return HEAD + length + FOOT


def head_and_foot(record: Any) -> tuple[bytes, bytes]:
    """What stands before a record and after it."""
    from penstock.kernels.crc32c import crc32c

    length = struct.pack("<Q", len(record))
    return length + struct.pack("<I", masked(crc32c(length))), struct.pack("<I", masked(crc32c(record)))


def plain_unframe(
    data: Bytes, start: int, stop: int, out: Bytes, place: int, offsets: Index, most: int
) -> tuple[int, int, int, int]:
    """`unframe` in plain Python: what the compiled one is compared with."""
    at, rows = start, 0
    offsets[0] = place
    while rows < most:
        if stop - at < HEAD:
            return rows, at, SHORT, HEAD
        length, crc = struct.unpack("<QI", data[at : at + HEAD].tobytes())
        if masked(plain_crc32c(data[at : at + 8])) != crc:
            return rows, at, WRONG_LENGTH, HEAD
        size = HEAD + min(length, TOO_LONG) + FOOT
        if stop - at < size:
            return rows, at, SHORT, size
        if len(out) - place < length:
            return rows, at, LIMIT, size
        record = data[at + HEAD : at + HEAD + length].copy()
        (crc,) = struct.unpack("<I", data[at + size - FOOT : at + size].tobytes())
        if masked(plain_crc32c(record)) != crc:
            return rows, at, WRONG_DATA, size
        out[place : place + length] = record
        place, at, rows = place + length, at + size, rows + 1
        offsets[rows] = place
    return rows, at, LIMIT, 0


def plain_frame(values: Bytes, offsets: Index, row: int, out: Bytes, place: int) -> tuple[int, int]:
    """`frame` in plain Python: what the compiled one is compared with."""
    while row < len(offsets) - 1:
        record = values[offsets[row] : offsets[row + 1]].tobytes()
        length = struct.pack("<Q", len(record))
        made = length + struct.pack("<I", masked(plain_crc32c(length)))
        made += record + struct.pack("<I", masked(plain_crc32c(record)))
        if len(out) - place < len(made):
            break
        out[place : place + len(made)] = np.frombuffer(made, np.uint8)
        place, row = place + len(made), row + 1
    return row, place
