"""`decode_png`: PNG to arrays, with the words of `tf.io`."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.blocks.trace import block_function
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.image.codecs.picture import Picture
from penstock.image.codecs.png import Png
from penstock.image.codecs.put_off import put_off
from penstock.image.codecs.rows import contents_of, contents_of_rows, of_each
from penstock.io.picture import JPEG, picture_of

_CALL = "ps.io.decode_png"


def _decode_rows(contents: Any, channels: int = 0, dtype: Any = np.uint8) -> Any:
    channels, dtype = _checked(channels, dtype)
    pictures = of_each(_picture, ((data, channels, dtype) for data in contents_of_rows(contents, _CALL)))
    return put_off(pictures, contents._trace)


@block_function(_decode_rows)
def decode_png(contents: Any, channels: int = 0, dtype: Any = np.uint8) -> Any:
    """Decode a PNG to an array of shape (height, width, channels) and dtype uint8 or uint16.

    `channels` is 1 for grey, 3 for colour, 4 for colour and alpha, or 0 for what the PNG has. The bits
    are those of `tf.io.decode_png`: 16 become 8 by dropping the lower half, and 8 become 16 by
    repeating them. A JPEG is decoded too, as there, with the extra `image`.

    >>> import base64
    >>> import penstock as ps
    >>> picture = base64.b64decode(
    ...     "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAAAAADRSSBWAAAAC0lEQVR4nGNgaAAAAIMAgYfP7KQAAAAASUVORK5CYII="
    ... )
    >>> ps.io.decode_png(picture)[..., 0], ps.io.decode_png(picture, channels=4).shape
    (array([[  0, 128]], dtype=uint8), (1, 2, 4))
    """
    channels, dtype = _checked(channels, dtype)
    return _picture(contents_of(contents, _CALL), channels, dtype).decoded()


def _picture(data: memoryview, channels: int, dtype: np.dtype[Any]) -> Picture:
    if data[:3] == JPEG:
        return picture_of(data, channels, dtype, _CALL)
    return Png(data, _CALL, channels, dtype)


def _checked(channels: int, dtype: Any) -> tuple[int, np.dtype[Any]]:
    if channels not in (0, 1, 3, 4):
        raise ArgumentError(f"{_CALL}(channels=): expected 0, 1, 3 or 4, got {channels!r}.")
    kind = np.dtype(dtype)
    if kind not in (np.uint8, np.uint16):
        raise ArgumentTypeError(f"{_CALL}(dtype=): expected uint8 or uint16, got {kind}.")
    return channels, kind
