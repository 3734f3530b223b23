"""Windows of JPEGs of the usual kind, decoded without the pixels around them.

The bits are those of the library, which takes all others: whatever is unusual, or wrong, is left to it.
"""

from __future__ import annotations

import os
import platform
import sys
import threading
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.image.codecs.jpeg_header import SCALES, JpegHeader
from penstock.image.codecs.picture import Kept, Window

_ORDER = sorted(range(64), key=lambda i: (i // 8 + i % 8, i // 8 if (i // 8 + i % 8) % 2 else i % 8))
"""Where in a block each of its numbers belongs, as they are coded."""
_ORDERS = np.array(_ORDER, np.int64) * 16
_HEAD = 12
"""The bytes of the head of a scan of three components."""
PROVEN = ("x86_64", "AMD64")
"""Where the bits were compared: the library has vector code for each kind of processor."""
_NARROWEST = 8
"""The library has other rules for fewer columns."""
_SMALL = 1 << 15
"""Pixels: of a smaller image the library is as quick."""
_KERNELS = "penstock.kernels.compiled.jpeg_rows"
KEPT = 8
"""So many tables are kept: a third of a MiB each."""
FEW, OFTEN = 8, 16
"""So many tables are built in any case, and more where each is used so often: to build one takes as long as
to decode a small image."""


class Tables(NamedTuple):
    """What is needed to read the code of an image, as the kernels take it."""

    halved: int
    """Whether its chromas have half as many rows and columns."""
    codes: NDArray[np.int64]
    """The two codes of each component."""
    coded: NDArray[np.uint16]
    direct: NDArray[np.int32]
    skips: NDArray[np.int32]
    bounds: NDArray[np.int64]
    symbols: NDArray[np.uint8]
    scales: NDArray[np.int64]
    orders: NDArray[np.int64]


class Memory(NamedTuple):
    """Where an image is worked on, as the kernels take it."""

    groups: NDArray[np.int16]
    memory: NDArray[np.uint8]
    places: NDArray[np.int64]


def tables_of(data: memoryview, header: JpegHeader) -> Tables | None:
    """The tables of a JPEG; None where the library is to decode it."""
    if header.components != 3 or not header.one_scan or not header.usual or header.adobe:
        return None
    if header.width < _NARROWEST or platform.machine() not in PROVEN:
        return None
    frame, scan = header.height_at + 5, header.scan_at
    tables = b"".join([data[one] for one in header.tables])
    return _built.tables(bytes(data[frame : frame + 9]), bytes(data[scan : scan + _HEAD]), tables)


def image_of(data: memoryview, header: JpegHeader, window: Window, *, mirrored: bool = False) -> list[int]:
    """What the kernels want to know of an image."""
    address = np.frombuffer(data, np.uint8).__array_interface__["data"][0]
    start = header.scan_at + _HEAD
    return [address, len(data), start, header.height, header.width, *window, int(mirrored)]


def sizes_of(images: NDArray[np.int64], halved: int) -> tuple[int, list[int]]:
    """How many numbers groups have, and how many bytes of memory the parts of the work take, at most."""
    from penstock.kernels.compiled import jpeg
    from penstock.kernels.compiled.jpeg_vectors import GROUP

    unit = 8 << halved
    length, top, left, rows, columns = (images[:, column] for column in (1, 5, 6, 7, 8))
    down, beside = ((first % unit + size) // unit + 2 for first, size in ((top, rows), (left, columns)))
    most = int(beside.max())
    wide, narrow = -(-(most << halved) // 16), -(-most // 16)
    planes = int(down.max()) * 8 * 128 * ((wide << halved) + 2 * narrow) + 64
    sizes = [int(length.max()) + jpeg.SPARE, planes, 12 * 128 * narrow + 1024]
    return GROUP * ((wide << halved) + 2 * narrow + 1), [*sizes, int((rows * columns).max()) * 3 + 64]


def memory_of(groups: int, sizes: list[int], room: NDArray[np.uint8]) -> Memory:
    """The parts of the work in one piece of memory, of so many bytes."""
    places = np.cumsum([2 * groups, *sizes])
    zeros = room[: 2 * groups].view(np.int16)
    zeros[:] = 0
    return Memory(zeros, room, places)


def decoded_window(
    data: memoryview, header: JpegHeader, window: Window, kept: Kept
) -> NDArray[np.uint8] | None:
    """The pixels of a window, in memory of `kept`; None where the library is to decode it.

    For one image kernels are not loaded: that takes longer than many of them.
    """
    if _KERNELS not in sys.modules or header.height * header.width < _SMALL:
        return None
    tables = tables_of(data, header)
    if tables is None:
        return None
    from penstock.kernels.compiled import jpeg_rows

    image = np.array(image_of(data, header, window), np.int64)
    groups, sizes = sizes_of(image[None], tables.halved)
    memory = memory_of(groups, sizes, kept.bytes(2 * groups + sum(sizes)))
    if not jpeg_rows.decode(np.frombuffer(data, np.uint8), image, tuple(tables), tuple(memory)):
        return None
    rows, columns = window[2:]
    first = int(memory.places[jpeg_rows.PIXELS])
    return memory.memory[first : first + rows * columns * 3].reshape(rows, columns, 3)


@cache
def _factors() -> NDArray[np.int64]:
    """What the quick transform wants numbers multiplied by, in 16384ths, in the order of the code."""
    one = np.cos(np.arange(8) * np.pi / 16) * np.sqrt(2)
    one[0] = 1
    return np.round(np.outer(one, one).ravel()[_ORDER] * (1 << 14)).astype(np.int64)


class _Built:
    """Tables that were built for images before; where most images have their own, no more are built."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, ...], Tables | None] = {}
        self._hits = self._misses = 0
        self._lock = threading.Lock()

    def tables(self, *key: bytes) -> Tables | None:
        """The tables of images like this one; None where the library is to decode it."""
        with self._lock:
            if key in self._known:
                self._hits += 1
                return self._known[key]
            if self._misses > FEW + self._hits // OFTEN:
                return None
            self._misses += 1
        made = _tables_of(*key)  # by two threads at worst: then the first is kept
        with self._lock:
            if key not in self._known and len(self._known) >= KEPT:
                del self._known[next(iter(self._known))]
            return self._known.setdefault(key, made)

    def forked(self) -> None:
        """In a child: nobody has the lock that somebody may have had in its parent."""
        self._lock = threading.Lock()


_built = _Built()
os.register_at_fork(after_in_child=_built.forked)


def _tables_of(frame: bytes, head: bytes, tables: bytes) -> Tables | None:
    """The tables of JPEGs, by what stands of components in the frame and in the head of the scan.

    None where they are not of the usual kind.
    """
    from penstock.kernels.compiled import jpeg

    halved = {0x22: 1, 0x11: 0}.get(frame[1])
    usual = frame[::3] == head[3:9:2] == b"\1\2\3" and frame[4] == frame[7] == 0x11
    if halved is None or not usual or head[:3] != b"\0\x0c\x03" or head[9:] != b"\0\x3f\0":
        return None
    codes = np.array([(one >> 4, 4 + (one & 15)) for one in head[4:9:2]], np.int64)
    if (codes > (3, 7)).any():
        return None
    coded = np.zeros((8, 1 << jpeg.LOOK), np.uint16)
    direct, skips = np.zeros((2, 8, 1 << jpeg.LOOK), np.int32)
    bounds, symbols = np.zeros((8, 34), np.int64), np.zeros((8, 256), np.uint8)
    found, scales, start = set(), {}, 0
    whole = np.frombuffer(tables, np.uint8)
    while start < len(whole):
        segment = whole[start : start + 1 + (tables[start + 1] << 8) + tables[start + 2]]
        start += len(segment)
        place = 3
        while place < len(segment):
            kind, number = int(segment[place]) >> 4, int(segment[place]) & 15
            place += 1
            if segment[0] == SCALES:
                if kind or number > 3 or len(segment) < place + 64:
                    return None
                scales[number] = segment[place : place + 64].astype(np.int64)
                place += 64
                continue
            size, row = int(segment[place : place + 16].sum()), 4 * kind + number
            if kind > 1 or number > 3 or size > 256 or len(segment) < place + 16 + size:
                return None
            if not kind and (segment[place + 16 : place + 16 + size] > 15).any():
                return None
            looked_up = coded[row], direct[row], skips[row], bounds[row], symbols[row]
            if not jpeg.build(segment, place, *looked_up):
                return None
            found.add(row)
            place += 16 + size
    if not found.issuperset(codes.ravel().tolist()) or not all(one in scales for one in frame[2::3]):
        return None
    made = np.concatenate([(scales[one] * _factors() + (1 << 11)) >> 12 for one in frame[2::3]])
    flat = coded.ravel(), direct.ravel(), skips.ravel()
    return Tables(halved, codes, *flat, bounds, symbols, made, _ORDERS)
