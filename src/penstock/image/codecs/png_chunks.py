"""The chunks of a PNG: what it says of itself, and where its compressed pixels lie."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from penstock.errors import DataError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY, COLOUR, PALETTE, GREY_ALPHA, COLOUR_ALPHA = 0, 2, 3, 4, 6
SAMPLES = {GREY: 1, COLOUR: 3, PALETTE: 1, GREY_ALPHA: 2, COLOUR_ALPHA: 4}
"""How many samples a pixel is stored as."""
_DEPTHS = {GREY: (1, 2, 4, 8, 16), PALETTE: (1, 2, 4, 8)}
_WHOLE = ((0, 0, 1, 1),)
_ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))


@dataclass(frozen=True, slots=True)
class Pass:
    """A part of an image that is coded on its own: every so many rows and columns from a first on."""

    top: int
    left: int
    down: int
    across: int
    rows: int
    columns: int
    line_bytes: int


@dataclass(slots=True)
class PngChunks:
    """What the chunks of a PNG hold."""

    width: int
    height: int
    depth: int
    colour: int
    interlaced: bool
    palette: bytes = b""
    transparent: bytes | None = None
    pixels: list[memoryview] = field(default_factory=list)
    """The compressed pixels, in as many pieces as there are."""

    def passes(self) -> list[Pass]:
        """How the pixels are coded, in order; parts without pixels are left out."""
        bits = self.depth * SAMPLES[self.colour]
        made = []
        for top, left, down, across in _ADAM7 if self.interlaced else _WHOLE:
            rows, columns = -(-(self.height - top) // down), -(-(self.width - left) // across)
            if rows > 0 and columns > 0:
                made.append(Pass(top, left, down, across, rows, columns, -(-columns * bits // 8)))
        return made


def read_chunks(data: memoryview, call: str) -> PngChunks:
    """Walk the chunks up to the last, and hold those that matter to their checksums."""
    if bytes(data[:8]) != SIGNATURE:
        start = bytes(data[:8])
        got = f"{len(data)} bytes that start with {start!r}" if len(data) else "no bytes at all"
        raise DataError(
            f"{call}: expected a PNG, which starts with {SIGNATURE!r}, got {got}. "
            f"ps.io.decode_image takes images of several kinds."
        )
    at, found = 8, None
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4])
        kind, body = bytes(data[at + 4 : at + 8]), data[at + 8 : at + 8 + length]
        if at + 12 + length > len(data):
            break
        if kind[0] & 32 and kind != b"tRNS":  # may be left out by who does not know it
            at += 12 + length
            continue
        if zlib.crc32(data[at + 4 : at + 8 + length]) != int.from_bytes(
            data[at + 8 + length : at + 12 + length]
        ):
            raise DataError(
                f"{call}: expected a chunk {kind!r} with its checksum, at byte {at}: the PNG is damaged."
            )
        if found is None:
            found = _first(kind, body, call)
        elif kind == b"PLTE":
            found.palette = bytes(body[: 3 * 256])
        elif kind == b"tRNS":
            found.transparent = bytes(body)
        elif kind == b"IDAT":
            found.pixels.append(body)
        elif kind == b"IEND":
            _check(found, call)
            return found
        else:
            raise DataError(f"{call}: expected the chunks of a PNG, got {kind!r} at byte {at}.")
        at += 12 + length
    raise DataError(f"{call}: expected a PNG to go on after byte {at}, got its end there: it is cut short.")


def _first(kind: bytes, body: memoryview, call: str) -> PngChunks:
    if kind != b"IHDR" or len(body) != 13:
        raise DataError(f"{call}: expected a PNG to start with its size, got a chunk {kind!r}.")
    depth, colour, compression, filters, interlace = body[8:13]
    if colour not in SAMPLES or depth not in _DEPTHS.get(colour, (8, 16)):
        raise DataError(f"{call}: expected a PNG of a known kind, got type {colour} with {depth} bits.")
    if compression or filters or interlace > 1:
        raise DataError(
            f"{call}: expected a PNG coded in a known way, got {compression}, {filters} and {interlace}."
        )
    width, height = int.from_bytes(body[:4]), int.from_bytes(body[4:8])
    return PngChunks(width, height, depth, colour, bool(interlace))


def _check(found: PngChunks, call: str) -> None:
    if found.colour == PALETTE and (not found.palette or len(found.palette) % 3):
        raise DataError(f"{call}: expected a PNG with a palette, got {len(found.palette)} bytes of one.")
    need = {GREY: 2, COLOUR: 6}.get(found.colour)
    if found.transparent is not None and need is not None and len(found.transparent) != need:
        found.transparent = None  # damaged, and not needed
