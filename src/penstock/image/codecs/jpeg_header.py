"""What a JPEG says of itself before its pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from penstock.errors import DataError

_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The markers that start a frame: what the size and the components are."""
_ALONE = frozenset(range(0xD0, 0xD8)) | {0x01}
"""Markers that nothing belongs to."""
CODES, SCALES = 0xC4, 0xDB
"""The markers of tables: Huffman codes, and what numbers are multiplied by."""
_SCAN, _END, _RESTARTS, _ADOBE, _JFIF = 0xDA, 0xD9, 0xDD, 0xEE, 0xE0
_USUAL = frozenset((CODES, SCALES, _SCAN, _RESTARTS, 0xC0, 0xC1, 0xFE, *range(0xE0, 0xF0)))
"""The markers of what stands in most headers: tables, sizes, and what cameras and people noted."""


@dataclass(frozen=True, slots=True)
class JpegHeader:
    """Size and layout of a JPEG."""

    height: int
    width: int
    components: int
    frame: int
    """The marker of its frame: 0xC0 and 0xC1 are sequential, 0xC2 is progressive."""
    height_at: int
    """The byte at which the height stands."""
    unit_height: int
    """The rows of pixels that are coded together."""
    blocks: int
    """How many squares of 8 x 8 samples it is made of."""
    adobe: bool
    """Whether it was written as Adobe writes them: with inverted colours, if there are four."""
    one_scan: bool
    """Whether all that is coded comes row by row, in one go and without restarts."""
    usual: bool
    """Whether nothing stands in the header but what stands in most."""
    tables: tuple[slice, ...]
    """Where its tables are, each from its marker on."""
    scan_at: int
    """The byte at which the head of the scan stands, after its marker."""

    @property
    def least_bytes(self) -> int:
        """The bytes that its pixels take at the very least: a square takes a bit or two."""
        bits = {0xC0: 2, 0xC1: 2, 0xC2: 1}.get(self.frame, 0)
        return self.blocks * bits // 8


def read_header(data: memoryview, call: str) -> JpegHeader:
    """The header of a JPEG; nothing is decoded."""
    if bytes(data[:3]) != b"\xff\xd8\xff":
        start = bytes(data[:8])
        got = f"{len(data)} bytes that start with {start!r}" if len(data) else "no bytes at all"
        raise DataError(
            f"{call}: expected a JPEG, which starts with {bytes((0xFF, 0xD8, 0xFF))!r}, got {got}. "
            f"ps.io.decode_image takes images of several kinds."
        )
    at, size = 2, len(data)
    frame, restarts, adobe = 0, False, False
    usual, tables = True, []
    while True:
        while at < size and data[at] != 0xFF:  # a decoder skips what is no marker
            usual = False
            at += 1
        while at < size and data[at] == 0xFF:
            at += 1
        if at + 3 > size:
            _cut_short(call, at)
        marker, at = data[at], at + 1
        if marker in _ALONE or marker == 0:
            usual = False
            continue
        if marker == _END:
            raise DataError(f"{call}: expected an image in the JPEG, got its end at byte {at - 2}.")
        length = data[at] << 8 | data[at + 1]
        if length < 2 or at + length > size:
            _cut_short(call, at)
        if marker not in _USUAL or (marker == _JFIF and length > 7 and data[at + 7] != 1):
            usual = False
        if marker in _FRAMES:
            if frame:
                raise DataError(f"{call}: expected one frame in a JPEG, got a second at byte {at - 2}.")
            frame, frame_at, frame_length = marker, at, length
        elif marker in (CODES, SCALES):
            tables.append(slice(at - 1, at + length))
        elif marker == _RESTARTS:
            restarts = length >= 4 and (data[at + 2], data[at + 3]) != (0, 0)
        elif marker == _ADOBE:
            adobe = adobe or bytes(data[at + 2 : at + 7]) == b"Adobe"
        elif marker == _SCAN:
            if not frame:
                raise DataError(f"{call}: expected a JPEG's size before its pixels, at byte {at - 2}.")
            whole = data[at + 2] == data[frame_at + 7] if length > 2 else False
            one_scan = frame in (0xC0, 0xC1) and whole and not restarts
            found = _Found(frame, frame_at, frame_length, adobe, one_scan, usual, tuple(tables), at)
            return _header(data, call, found)
        at += length


class _Found(NamedTuple):
    """What was found on the way to the pixels."""

    frame: int
    frame_at: int
    frame_length: int
    adobe: bool
    one_scan: bool
    usual: bool
    tables: tuple[slice, ...]
    scan_at: int


def _header(data: memoryview, call: str, found: _Found) -> JpegHeader:
    at, length = found.frame_at, found.frame_length
    if length < 8 or length != 8 + 3 * data[at + 7]:
        _cut_short(call, at)
    height, width = data[at + 3] << 8 | data[at + 4], data[at + 5] << 8 | data[at + 6]
    bits, components = data[at + 2], data[at + 7]
    if bits != 8:
        raise DataError(f"{call}: expected a JPEG with 8 bits a sample, got one with {bits}.")
    sampling = [data[at + 9 + 3 * i] for i in range(components)]
    factors = [(each >> 4, each & 15) for each in sampling]
    if not factors or not all(1 <= factor <= 4 for pair in factors for factor in pair):
        raise DataError(f"{call}: expected a JPEG with 1 to 4 samples a unit, got {factors}.")
    most_across, most_down = (max(pair[axis] for pair in factors) for axis in (0, 1))
    blocks = sum(
        -(-width * across // (8 * most_across)) * -(-height * down // (8 * most_down))
        for across, down in factors
    )
    return JpegHeader(
        height=height,
        width=width,
        components=components,
        frame=found.frame,
        height_at=at + 3,
        unit_height=8 * most_down,
        blocks=blocks,
        adobe=found.adobe,
        one_scan=found.one_scan,
        usual=found.usual,
        tables=found.tables,
        scan_at=found.scan_at,
    )


def _cut_short(call: str, at: int) -> NoReturn:
    raise DataError(
        f"{call}: expected more of the JPEG's header after byte {at}: it is cut short or damaged."
    )
