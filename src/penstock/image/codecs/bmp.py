"""BMP, as far as it is not compressed."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import DataError
from penstock.image.codecs.channels import convert
from penstock.image.codecs.picture import Kept, Picture, check_length, check_size

_SAMPLES = {8: 1, 24: 3, 32: 4}
_ORDER = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}
"""Where red, green, blue and alpha stand."""
_ALONE, _BY_MASKS = 0, 3


class Bmp(Picture):
    """A BMP in grey, in colour, or in colour with alpha."""

    __slots__ = ("_data", "_from_above", "_line_bytes", "_samples", "_start")

    def __init__(self, data: memoryview, call: str, channels: int) -> None:
        if len(data) < 34 or bytes(data[:2]) != b"BM":
            raise DataError(f"{call}: expected a BMP of at least 34 bytes, got {len(data)}.")
        (start,) = struct.unpack_from("<I", data, 10)
        size, width, height, _, bits, packing = struct.unpack_from("<IiiHHI", data, 14)
        known = packing == _ALONE or (packing == _BY_MASKS and bits == 32)
        if size < 40 or bits not in _SAMPLES or not known:
            raise DataError(
                f"{call}: expected a BMP with 8, 24 or 32 bits a pixel that is not compressed, got one with "
                f"{bits} bits, in the way {packing}."
            )
        if bits == 8 and not _is_grey(data[14 + size : start]):
            raise DataError(f"{call}: expected a BMP in grey or in full colour, got one with a palette.")
        self._samples = _SAMPLES[bits]
        rows = abs(height)
        self.shape, self.dtype = (rows, width, channels or self._samples), np.dtype(np.uint8)
        self._line_bytes = -(-width * self._samples // 4) * 4
        check_size(call, "BMP", rows, width, 4)
        check_length(call, "BMP", rows, width, start + rows * self._line_bytes, len(data))
        self._data, self._start, self._from_above = data, start, height < 0

    def into(self, out: NDArray[Any], kept: Kept) -> None:  # noqa: ARG002
        rows, columns = self.shape[:2]
        flat = np.frombuffer(self._data, np.uint8, rows * self._line_bytes, self._start)
        lines = flat.reshape(rows, self._line_bytes)[:, : columns * self._samples]
        image = lines.reshape(rows, columns, self._samples)[..., _ORDER[self._samples]]
        convert(image if self._from_above else image[::-1], out)


def _is_grey(palette: memoryview) -> bool:
    colours = np.frombuffer(palette[: len(palette) // 4 * 4], np.uint8).reshape(-1, 4)[:, :3]
    return bool((colours == np.arange(len(colours))[:, None]).all())
