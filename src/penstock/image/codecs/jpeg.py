"""JPEG, decoded by libjpeg-turbo through simplejpeg, which lets go of the GIL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import DataError, PenstockError
from penstock.image.codecs.jpeg_header import JpegHeader, read_header
from penstock.image.codecs.jpeg_window import Tables, decoded_window, image_of, tables_of
from penstock.image.codecs.picture import Kept, Picture, Window, check_length, check_size

_COLOURS = {1: "GRAY", 3: "RGB", 4: "CMYK"}
_LOSES_NOTHING = re.compile(r"extraneous bytes before marker 0xd9$")
"""What the library says where something stands between the last pixel and the end."""


@dataclass(frozen=True, slots=True)
class JpegOptions:
    """How a JPEG is decoded; the defaults are those of `tf.io.decode_jpeg`."""

    channels: int = 0
    ratio: int = 1
    fancy_upscaling: bool = True
    try_recover_truncated: bool = False
    fast: bool = True
    """Whether the quicker of two arithmetics is used, as TensorFlow does unless told otherwise."""


class Jpeg(Picture):
    """A JPEG, or a window of it; with a `ratio` of 2, 4 or 8, so many times smaller.

    Of a window's image, what lies around the window is not decoded where the JPEG is of the usual kind. Of
    others it is what lies below the window, where the JPEG has all its pixels in one scan.
    """

    __slots__ = ("_call", "_data", "_header", "_options", "_whole", "_window")

    def __init__(
        self, data: memoryview, call: str, options: JpegOptions, window: Window | None = None
    ) -> None:
        self._open(data, call, options, read_header(data, call), window)

    def _open(
        self, data: memoryview, call: str, options: JpegOptions, header: JpegHeader, window: Window | None
    ) -> None:
        self._data, self._call, self._options, self._header = data, call, options, header
        channels = options.channels or min(header.components, 3)
        height, width = scaled(header.height, options.ratio), scaled(header.width, options.ratio)
        check_size(call, "JPEG", height, width, 4 if header.components == 4 else channels)
        if not options.try_recover_truncated:
            check_length(call, "JPEG", header.height, header.width, header.least_bytes, len(data))
        if header.components == 4 and channels == 1:
            raise DataError(
                f"{call}: expected a JPEG that can be made grey, got one in CMYK. Use channels=3 and a mean."
            )
        self.dtype = np.dtype(np.uint8)
        self._whole, self._window = (height, width, channels), window
        self.shape = self._whole
        if window is not None:
            check_window(call, window, height, width)
            self.shape = (window[2], window[3], channels)

    @classmethod
    def of(
        cls, data: memoryview, call: str, options: JpegOptions, header: JpegHeader, window: Window | None
    ) -> Jpeg:
        """One whose header has been read before."""
        made = cls.__new__(cls)
        made._open(data, call, options, header, window)
        return made

    def into(self, out: NDArray[Any], kept: Kept) -> None:
        if self._window is None:
            self._decode(self._data, out)
            return
        image, (above, beside) = self.around(kept)
        top, left, rows, columns = self._window
        top, left = top - above, left - beside
        np.copyto(out, image[top : top + rows, left : left + columns])

    def around(self, kept: Kept) -> tuple[NDArray[np.uint8], tuple[int, int]]:
        height, width, channels = self._whole
        data = self._data
        if self._window is not None and self._is_plain:
            part = decoded_window(data, self._header, self._window, kept)
            if part is not None:
                return part, self._window[:2]
        if self._window is not None:
            needed = self._rows_until(self._window[0] + self._window[2])
            if needed < self._header.height:
                data = self._shortened(needed)
                height = scaled(needed, self._options.ratio)
        whole = kept.bytes(height * width * channels).reshape(height, width, channels)
        self._decode(data, whole)
        return whole, (0, 0)

    @property
    def _is_plain(self) -> bool:
        """Whether it is wanted as most are."""
        options, channels = self._options, self._whole[2]
        quick = options.fast and options.fancy_upscaling and not options.try_recover_truncated
        return quick and options.ratio == 1 and channels == 3

    def window(self, *, mirrored: bool) -> tuple[Tables, list[int]] | None:
        """Its tables, and what kernels want to know of its window; None where the library is to decode it."""
        tables = tables_of(self._data, self._header) if self._window is not None and self._is_plain else None
        if tables is None or self._window is None:
            return None
        return tables, image_of(self._data, self._header, self._window, mirrored=mirrored)

    def _rows_until(self, bottom: int) -> int:
        """How many of the JPEG's rows are needed for those above `bottom` in the decoded image."""
        if not self._header.one_scan:
            return self._header.height
        # One row more: colours that were stored coarsely are smoothed over the border of a unit.
        unit = self._header.unit_height
        return -(-(bottom * self._options.ratio + 1) // unit) * unit

    def _shortened(self, height: int) -> memoryview:
        """The same JPEG with a header that tells of fewer rows: the decoder stops there."""
        data, at = bytearray(self._data), self._header.height_at
        data[at : at + 2] = height.to_bytes(2)
        return memoryview(data)

    def _decode(self, data: memoryview, out: NDArray[Any]) -> None:
        if self._header.components != 4:
            self._decode_as(_COLOURS[out.shape[2]], data, out)
            return
        inks = np.empty((*out.shape[:2], 4), np.uint8)
        self._decode_as("CMYK", data, inks)
        _rgb_of_inks(inks, out, inverted=self._header.adobe)

    def _decode_as(self, colours: str, data: memoryview, out: NDArray[Any]) -> None:
        options = self._options
        library = _library()
        try:
            made = library.decode_jpeg(
                data,
                colours,
                fastdct=options.fast,
                fastupsample=not options.fancy_upscaling,
                min_height=out.shape[0] if options.ratio > 1 else 0,
                min_width=out.shape[1] if options.ratio > 1 else 0,
                buffer=out,
                strict=not options.try_recover_truncated,
            )
        except ValueError as error:
            if not _LOSES_NOTHING.search(str(error)):
                raise DataError(
                    f"{self._call}: expected a JPEG of {self._header.height} x {self._header.width} pixels "
                    f"that can be decoded, got {len(data)} bytes of which the decoder says: {error}."
                ) from None
        else:
            assert made.shape == out.shape, "the library reads the header alike"


def scaled(length: int, ratio: int) -> int:
    """A side of an image that is decoded `ratio` times smaller."""
    return -(-length // ratio)


def check_window(call: str, window: Window, height: int, width: int) -> None:
    """Refuse a crop that does not lie within the image."""
    top, left, rows, columns = window
    if min(top, left) < 0 or min(rows, columns) < 1 or top + rows > height or left + columns > width:
        raise DataError(
            f"{call}: expected a crop window (y, x, height, width) within the image of {height} x {width} "
            f"pixels, got {window}."
        )


def _rgb_of_inks(inks: NDArray[np.uint8], out: NDArray[Any], *, inverted: bool) -> None:
    """Red, green and blue of cyan, magenta, yellow and black."""
    wide = inks.astype(np.uint16)
    if not inverted:
        np.subtract(255, wide, out=wide)
    np.floor_divide(wide[..., :3] * wide[..., 3:], 255, out=out, casting="unsafe")


def _library() -> Any:
    try:
        return import_module("simplejpeg")
    except ImportError as error:
        raise PenstockError(
            f"This needs the library simplejpeg, which cannot be loaded ({error}). "
            f"Install it: pip install simplejpeg, or pip install '.[image]' in Penstock's clone."
        ) from error
