"""`decode_image`: images of several kinds to arrays, with the words of `tf.io`."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.blocks.trace import block_function
from penstock.errors import ArgumentError, ArgumentTypeError, DataError
from penstock.image.codecs.bmp import Bmp
from penstock.image.codecs.converted import Converted
from penstock.image.codecs.jpeg import Jpeg, JpegOptions
from penstock.image.codecs.picture import Picture
from penstock.image.codecs.png import Png
from penstock.image.codecs.png_chunks import SIGNATURE
from penstock.image.codecs.put_off import put_off
from penstock.image.codecs.rows import contents_of, contents_of_rows, of_each

JPEG = b"\xff\xd8\xff"
"""What a JPEG starts with."""
_CALL = "ps.io.decode_image"


def _decode_rows(contents: Any, channels: int | None = None, dtype: Any = np.uint8) -> Any:
    channels, dtype = _checked(channels, dtype)
    rows = ((data, channels, dtype) for data in contents_of_rows(contents, _CALL))
    pictures = of_each(picture_of, rows)
    return put_off(pictures, contents._trace)


@block_function(_decode_rows)
def decode_image(contents: Any, channels: int | None = None, dtype: Any = np.uint8) -> Any:
    """Decode a JPEG, a PNG or a BMP, whichever it is, to an array of shape (height, width, channels).

    `channels` is 1 for grey, 3 for colour, 4 for colour and alpha (not of a JPEG), or 0 for what the
    image has. `dtype` is uint8, uint16 or float32; others than uint8 are scaled as by
    `ps.image.convert_image_dtype`, PNGs with all of their 16 bits.

    >>> import numpy as np
    >>> import penstock as ps
    >>> import simplejpeg
    >>> picture = simplejpeg.encode_jpeg(np.zeros((6, 4, 3), np.uint8))
    >>> ps.io.decode_image(picture, dtype=np.float32)[0, 0]
    array([0., 0., 0.], dtype=float32)
    """
    channels, dtype = _checked(channels, dtype)
    return picture_of(contents_of(contents, _CALL), channels, dtype).decoded()


def _checked(channels: int | None, dtype: Any) -> tuple[int, np.dtype[Any]]:
    if channels not in (None, 0, 1, 3, 4):
        raise ArgumentError(f"{_CALL}(channels=): expected 0, 1, 3 or 4, got {channels!r}.")
    kind = np.dtype(dtype)
    if kind not in (np.uint8, np.uint16, np.float32):
        raise ArgumentTypeError(f"{_CALL}(dtype=): expected uint8, uint16 or float32, got {kind}.")
    return channels or 0, kind


def picture_of(data: memoryview, channels: int, dtype: np.dtype[Any], call: str = _CALL) -> Picture:
    """A picture of any kind, its header read."""
    picture: Picture
    start = bytes(data[:12])
    if start[:8] == SIGNATURE:
        bits = np.uint8 if dtype == np.uint8 else np.uint16
        picture = Png(data, call, channels, np.dtype(bits))
    elif start[:3] == JPEG:
        if channels == 4:
            raise DataError(f"{call}: expected at most 3 channels of a JPEG, which has no alpha, got 4.")
        picture = Jpeg(data, call, JpegOptions(channels))
    elif start[:2] == b"BM":
        picture = Bmp(data, call, channels)
    else:
        raise DataError(f"{call}: expected a JPEG, a PNG or a BMP, got {_described(start, len(data))}.")
    return picture if picture.dtype == dtype else Converted(picture, dtype)


def _described(start: bytes, size: int) -> str:
    if not size:
        return "no bytes at all"
    known = "GIF" if start[:4] == b"GIF8" else "WebP" if start[8:] == b"WEBP" else ""
    if known:
        return f"a {known}. Convert it to one of these, or leave it out with ignore_errors()"
    return f"{size} bytes that start with {start[:8]!r}"
