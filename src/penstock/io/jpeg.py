"""`decode_jpeg` and its kin: JPEG to arrays, with the words of `tf.io`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock.blocks.rows import Rows
from penstock.blocks.trace import block_function
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.image.codecs.jpeg import Jpeg, JpegOptions
from penstock.image.codecs.jpeg_header import read_header
from penstock.image.codecs.picture import Picture, Window, check_size
from penstock.image.codecs.png import Png
from penstock.image.codecs.png_chunks import SIGNATURE
from penstock.image.codecs.put_off import put_off
from penstock.image.codecs.rows import contents_of, contents_of_rows, of_each, values_of_rows

_FAST = {"": True, "INTEGER_FAST": True, "INTEGER_ACCURATE": False}


def _decode_rows(contents: Any, channels: int = 0, ratio: int = 1, **how: Any) -> Any:
    call = "ps.io.decode_jpeg"
    options = _options(call, channels, ratio, **how)
    pictures = of_each(_picture, ((data, call, options) for data in contents_of_rows(contents, call)))
    return put_off(pictures, contents._trace)


@block_function(_decode_rows)
def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    *,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    dct_method: str = "",
) -> Any:
    """Decode a JPEG to an array of shape (height, width, channels) and dtype uint8.

    `channels` is 1 for grey, 3 for colour, or 0 for what the JPEG has. With a `ratio` of 2, 4 or 8 the
    image is that many times smaller, and quicker to decode. The bits are those of `tf.io.decode_jpeg`:
    `dct_method` is `"INTEGER_FAST"`, the default of TensorFlow, or `"INTEGER_ACCURATE"`. A turn that a
    camera noted is not made. A PNG is decoded too, as there, and is not made smaller: there is one among the
    JPEGs of many a data set. Needs the extra `image`.

    >>> import numpy as np
    >>> import penstock as ps
    >>> import simplejpeg
    >>> picture = simplejpeg.encode_jpeg(np.full((6, 4, 3), 200, np.uint8))
    >>> ps.io.decode_jpeg(picture).shape, ps.io.decode_jpeg(picture, channels=1, ratio=2).shape
    ((6, 4, 3), (3, 2, 1))
    """
    call = "ps.io.decode_jpeg"
    options = _options(call, channels, ratio, fancy_upscaling, try_recover_truncated, dct_method)
    return _picture(contents_of(contents, call), call, options).decoded()


def _picture(data: memoryview, call: str, options: JpegOptions) -> Picture:
    if data[:8] == SIGNATURE:
        return Png(data, call, options.channels, np.dtype(np.uint8))
    return Jpeg(data, call, options)


def _crop_rows(contents: Any, crop_window: Any, channels: int = 0, ratio: int = 1, **how: Any) -> Any:
    call = "ps.io.decode_and_crop_jpeg"
    options = _options(call, channels, ratio, **how)
    trace = contents._trace
    rows = zip(contents_of_rows(contents, call), values_of_rows(crop_window, trace), strict=True)
    pictures = of_each(lambda data, window: Jpeg(data, call, options, _window(window, call)), rows)
    return put_off(pictures, trace)


@block_function(_crop_rows)
def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    *,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    dct_method: str = "",
) -> Any:
    """Decode a part of a JPEG: `crop_window` is its (y, x, height, width) in the decoded image.

    The pixels are those of `decode_jpeg`. Of the usual JPEGs, what lies around the window is not
    decoded.

    >>> import numpy as np
    >>> import penstock as ps
    >>> import simplejpeg
    >>> picture = simplejpeg.encode_jpeg(np.full((60, 40, 3), 200, np.uint8))
    >>> ps.io.decode_and_crop_jpeg(picture, (10, 20, 30, 15)).shape
    (30, 15, 3)
    """
    call = "ps.io.decode_and_crop_jpeg"
    options = _options(call, channels, ratio, fancy_upscaling, try_recover_truncated, dct_method)
    return Jpeg(contents_of(contents, call), call, options, _window(crop_window, call)).decoded()


def _shape_rows(contents: Any, output_type: Any = np.int32) -> Any:
    call = "ps.io.extract_jpeg_shape"
    shapes = of_each(_shape, ((data, call) for data in contents_of_rows(contents, call)))
    return Rows(np.array(shapes, _shape_type(output_type, call)), contents._trace)


@block_function(_shape_rows)
def extract_jpeg_shape(contents: Any, output_type: Any = np.int32) -> Any:
    """Height, width and channels of a JPEG, out of its header: nothing is decoded.

    >>> import numpy as np
    >>> import penstock as ps
    >>> import simplejpeg
    >>> picture = simplejpeg.encode_jpeg(np.full((60, 40, 3), 200, np.uint8))
    >>> ps.io.extract_jpeg_shape(picture)
    array([60, 40,  3], dtype=int32)
    """
    call = "ps.io.extract_jpeg_shape"
    return np.array(_shape(contents_of(contents, call), call), _shape_type(output_type, call))


def _shape(data: memoryview, call: str) -> tuple[int, int, int]:
    header = read_header(data, call)
    check_size(call, "JPEG", header.height, header.width, 0)
    return header.height, header.width, header.components


def _shape_type(output_type: Any, call: str) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(output_type)
    if dtype not in (np.int32, np.int64):
        raise ArgumentTypeError(f"{call}(output_type=): expected int32 or int64, got {dtype}.")
    return dtype


def _options(
    call: str,
    channels: int,
    ratio: int,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    dct_method: str = "",
) -> JpegOptions:
    if channels not in (0, 1, 3):
        raise ArgumentError(f"{call}(channels=): expected 0, 1 or 3 for a JPEG, got {channels!r}.")
    if ratio not in (1, 2, 4, 8):
        raise ArgumentError(f"{call}(ratio=): expected 1, 2, 4 or 8, got {ratio!r}.")
    if dct_method not in _FAST:
        raise ArgumentError(f"{call}(dct_method=): expected one of {tuple(_FAST)}, got {dct_method!r}.")
    return JpegOptions(channels, ratio, fancy_upscaling, try_recover_truncated, _FAST[dct_method])


def _window(crop_window: Any, call: str) -> Window:
    try:
        top, left, height, width = map(operator.index, crop_window)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{call}(crop_window=): expected four whole numbers (y, x, height, width), got {crop_window!r}."
        ) from None
    return top, left, height, width
