"""PNG, decoded by zlib and a kernel that undoes its filters; both let go of the GIL."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import DataError
from penstock.image.codecs.channels import convert
from penstock.image.codecs.picture import Kept, Picture, check_length, check_size
from penstock.image.codecs.png_chunks import (
    COLOUR,
    GREY,
    PALETTE,
    SAMPLES,
    Pass,
    read_chunks,
)

_GAIN = 1032
"""No bytes of zlib's become more than so many times as many."""


class Png(Picture):
    """A PNG, with the channels and the bits of `tf.io.decode_png`."""

    __slots__ = ("_call", "_chunks")

    def __init__(self, data: memoryview, call: str, channels: int, dtype: np.dtype[Any]) -> None:
        chunks = read_chunks(data, call)
        own = SAMPLES[chunks.colour]
        if chunks.colour == PALETTE:
            own = 3 if chunks.transparent is None else 4
        self._call, self._chunks = call, chunks
        self.shape, self.dtype = (chunks.height, chunks.width, channels or own), dtype
        check_size(call, "PNG", chunks.height, chunks.width, 4 * max(dtype.itemsize, chunks.depth // 8))
        coded = sum(part.rows * (part.line_bytes + 1) for part in chunks.passes())
        least, length = coded // _GAIN, sum(map(len, chunks.pixels))
        check_length(call, "PNG", chunks.height, chunks.width, least, length)

    def into(self, out: NDArray[Any], kept: Kept) -> None:  # noqa: ARG002
        chunks = self._chunks
        plain = chunks.depth == 8 and not chunks.interlaced and chunks.colour != PALETTE
        if plain and out.dtype == np.uint8 and out.shape[2] == SAMPLES[chunks.colour]:
            self._undo(self._inflated(), 0, chunks.passes()[0], out.reshape(out.shape[0], -1))
            return
        image = self._expanded(self._stored(), alpha=out.shape[2] % 2 == 0)
        convert(image, out)

    def _inflated(self) -> NDArray[np.uint8]:
        """The filtered rows of all passes, one after the other."""
        chunks = self._chunks
        size = sum(part.rows * (part.line_bytes + 1) for part in chunks.passes())
        pixels = chunks.pixels[0] if len(chunks.pixels) == 1 else b"".join(chunks.pixels)
        stream = zlib.decompressobj()
        try:
            coded = stream.decompress(pixels, size + 1)
        except zlib.error as error:
            raise DataError(f"{self._call}: expected a PNG's compressed pixels, but {error}.") from None
        if len(coded) < size or (not stream.eof and len(coded) == size):
            raise DataError(
                f"{self._call}: expected {size} bytes for a PNG of {chunks.height} x {chunks.width} "
                f"pixels, got {len(coded)}: it is cut short."
            )
        return np.frombuffer(coded, np.uint8)

    def _undo(self, coded: NDArray[np.uint8], start: int, part: Pass, out: NDArray[np.uint8]) -> int:
        from penstock.kernels.compiled.unfilter import unfilter

        pixel = max(1, self._chunks.depth * SAMPLES[self._chunks.colour] // 8)
        bad = unfilter(coded, start, pixel, out)
        if bad >= 0:
            raise DataError(
                f"{self._call}: expected a filter from 0 to 4 in row {bad} of a PNG: it is damaged."
            )
        return start + part.rows * (part.line_bytes + 1)

    def _stored(self) -> NDArray[Any]:
        """The samples as they are stored: of shape (height, width, samples), uint8 or uint16."""
        chunks, coded, start = self._chunks, self._inflated(), 0
        samples = SAMPLES[chunks.colour]
        dtype = np.uint16 if chunks.depth == 16 else np.uint8
        image = np.empty((chunks.height, chunks.width, samples), dtype)
        for part in chunks.passes():
            lines = np.empty((part.rows, part.line_bytes), np.uint8)
            start = self._undo(coded, start, part, lines)
            if chunks.depth == 16:
                lines = lines.view(">u2")
            elif chunks.depth < 8:
                lines = _unpacked(lines, chunks.depth)
            pixels = lines[:, : part.columns * samples].reshape(part.rows, part.columns, samples)
            image[part.top :: part.down, part.left :: part.across] = pixels
        return image

    def _expanded(self, image: NDArray[Any], *, alpha: bool) -> NDArray[Any]:
        """The image in grey or colour at 8 or 16 bits, with its alpha if that is wanted."""
        chunks = self._chunks
        if chunks.colour == PALETTE:
            table = _table(chunks.palette, chunks.transparent)
            return np.take(table, image[..., 0], axis=0)
        see_through = None
        if alpha and chunks.transparent is not None and chunks.colour in (GREY, COLOUR):
            hidden = np.frombuffer(chunks.transparent, ">u2")
            see_through = (image == hidden).all(axis=2)
        if chunks.depth < 8:
            image = image * np.uint8(255 // ((1 << chunks.depth) - 1))
        if see_through is not None:
            full = np.iinfo(image.dtype).max
            opaque = np.where(see_through, 0, full).astype(image.dtype)
            image = np.concatenate([image, opaque[..., None]], axis=2)
        return image


def _unpacked(lines: NDArray[np.uint8], depth: int) -> NDArray[np.uint8]:
    """Samples of 1, 2 or 4 bits, a byte each."""
    shifts = np.arange(8 - depth, -1, -depth, dtype=np.uint8)
    each = (lines[..., None] >> shifts) & np.uint8((1 << depth) - 1)
    return each.reshape(len(lines), -1)


def _table(palette: bytes, transparent: bytes | None) -> NDArray[np.uint8]:
    """Red, green, blue and alpha of each number; those beyond the palette are black."""
    table = np.zeros((256, 4), np.uint8)
    table[:, 3] = 255
    table[: len(palette) // 3, :3] = np.frombuffer(palette, np.uint8).reshape(-1, 3)
    alphas = np.frombuffer((transparent or b"")[:256], np.uint8)
    table[: len(alphas), 3] = alphas
    return table
