"""`random_resized_crop`: a random window at a fixed size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.blocks.columns import RaggedColumn
from penstock.blocks.rows import Rows
from penstock.blocks.trace import Opaque, block_function
from penstock.errors import ArgumentError
from penstock.image.codecs.jpeg_header import read_header
from penstock.image.codecs.picture import Window, check_size
from penstock.image.codecs.rows import contents_of, contents_of_rows, of_each
from penstock.image.neighbours import METHODS, sides
from penstock.image.resampled import Resampled, Size, resampled_jpeg
from penstock.image.undecoded import resampled_rows
from penstock.random.continuous import uniform

_CALL = "ps.image.random_resized_crop"
_ATTEMPTS = 10
"""So many windows are drawn; if none fits into the image, the middle of it is taken."""
Range = tuple[float, float]


class _Crop:
    """What is wanted, with its arguments checked."""

    def __init__(
        self,
        size: Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: str = "bilinear",
        channels: int = 0,
        seed: int | None = None,
    ) -> None:
        self.size: Size = sides(size, f"{_CALL}(size=)")
        self._scale, self._ratio = _range(scale, "scale", 1), _range(ratio, "ratio", math.inf)
        if interpolation not in METHODS:
            raise ArgumentError(f"{_CALL}(interpolation=): expected one of {METHODS}, got {interpolation!r}.")
        if channels not in (0, 1, 3):
            raise ArgumentError(f"{_CALL}(channels=): expected 0, 1 or 3 for a JPEG, got {channels!r}.")
        self._method, self._channels, self._seed = interpolation, channels, seed

    def draws(self) -> Any:
        """For each attempt its area, its ratio, and its place in height and in width, from 0 to 1."""
        return uniform((_ATTEMPTS, 4), dtype=np.float64, seed=self._seed)

    def of_jpeg(self, data: memoryview, draws: Any) -> Resampled:
        """The crop of a JPEG, of which no more is decoded than is needed."""
        header = read_header(data, _CALL)
        check_size(_CALL, "JPEG", header.height, header.width, 0)
        window = self._window(header.height, header.width, draws)
        return resampled_jpeg(data, _CALL, header, window, self.size, self._method, self._channels)

    def of_array(self, image: Any, draws: Any) -> Resampled:
        """The crop of an image."""
        if image.ndim not in (2, 3) or 0 in image.shape[:2] or image.dtype.kind not in "biuf":
            raise ArgumentError(
                f"{_CALL}: expected an image of shape (height, width) or (height, width, channels), or the "
                f"bytes of a JPEG, got the shape {tuple(image.shape)} and the dtype {image.dtype}."
            )
        window = self._window(image.shape[0], image.shape[1], draws)
        return Resampled(image, window, 1, self.size, self._method)

    def _window(self, height: int, width: int, draws: Any) -> Window:
        (small, large), (narrow, wide) = self._scale, self._ratio
        for area, aspect, down, across in draws.tolist():
            pixels = height * width * (small + (large - small) * area)
            shape = math.exp(math.log(narrow) + (math.log(wide) - math.log(narrow)) * aspect)
            rows, columns = round(math.sqrt(pixels / shape)), round(math.sqrt(pixels * shape))
            if 0 < rows <= height and 0 < columns <= width:
                return int(down * (height - rows + 1)), int(across * (width - columns + 1)), rows, columns
        rows = min(height, max(1, round(width / narrow)))
        columns = min(width, max(1, round(height * wide)))
        return (height - rows) // 2, (width - columns) // 2, rows, columns


def _range(given: Any, name: str, most: float) -> Range:
    try:
        low, high = map(float, given)
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if not 0 < low <= high <= most or math.isinf(high):
        limit = "" if math.isinf(most) else f" up to {most}"
        raise ArgumentError(
            f"{_CALL}({name}=): expected two numbers above 0{limit}, the smaller first, got {given!r}."
        )
    return low, high


def _crop_rows(image: Any, *args: Any, **kwargs: Any) -> Any:
    crop = _Crop(*args, **kwargs)
    draws = crop.draws()._array
    if isinstance(image, Rows):
        images: Any = image._array
    elif isinstance(image, Opaque) and isinstance(image._column, RaggedColumn):
        images = image._column.items()
    else:
        rows = zip(contents_of_rows(image, _CALL), draws, strict=True)
        return resampled_rows(of_each(crop.of_jpeg, rows), image._trace)
    return resampled_rows(of_each(crop.of_array, zip(images, draws, strict=True)), image._trace)


@block_function(_crop_rows)
def random_resized_crop(
    image: Any,
    size: Sequence[int],
    scale: Sequence[float] = (0.08, 1.0),
    ratio: Sequence[float] = (3 / 4, 4 / 3),
    interpolation: str = "bilinear",
    channels: int = 0,
    seed: int | None = None,
) -> Any:
    """Cut a window of random area, shape and place, and give it the height and width of `size`.

    The window has a part of the image's area from `scale`, and a width that is a multiple from `ratio` of
    its height; if none of ten fits, it is the middle of the image. It is resized as `ps.image.resize`
    does: `"bilinear"` gives float32, `"nearest"` keeps the dtype.

    The image may be the bytes of a JPEG (with `channels` as in `ps.io.decode_jpeg`): then what lies around
    the window is not decoded, if it is one of the usual kind, and an image of which the window has twice,
    four or eight times as many rows and columns as wanted is decoded that many times smaller.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ds = ps.Dataset.from_tensor_slices(np.zeros((4, 30, 40, 3), np.uint8))
    >>> ds.map(lambda x: ps.image.random_resized_crop(x, (16, 16))).element_spec
    TensorSpec(shape=(16, 16, 3), dtype=float32)
    """
    crop = _Crop(size, scale, ratio, interpolation, channels, seed)
    if isinstance(image, bytes | bytearray | memoryview):
        return crop.of_jpeg(contents_of(image, _CALL), crop.draws()).decoded()
    return crop.of_array(np.asarray(image), crop.draws()).decoded()
