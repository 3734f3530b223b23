"""A window of an image at another size: what `ps.image.resize` gives for it, to the last bit."""

from __future__ import annotations

import math
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.image.codecs.jpeg import Jpeg, JpegOptions, scaled
from penstock.image.codecs.jpeg_header import JpegHeader
from penstock.image.codecs.jpeg_window import Tables
from penstock.image.codecs.picture import Kept, Picture, Window
from penstock.image.neighbours import nearest

Size = tuple[int, int]


class Afterwards(NamedTuple):
    """What is done with a picture at its new size: mirrored, left to right, and then computed."""

    mirrored: bool = False
    codes: NDArray[np.int64] = np.zeros(0, np.int64)
    numbers: NDArray[np.float32] = np.zeros(0, np.float32)


class Resampled(Picture):
    """A window of an image at another size. The window may start and end within a pixel."""

    __slots__ = ("_afterwards", "_image", "_method", "_size", "_spans")

    def __init__(
        self, image: NDArray[Any] | Picture, window: Window, ratio: int, size: Size, method: str
    ) -> None:
        self._image, self._size, self._method = image, size, method
        self._spans = [(window[axis] / ratio, window[axis + 2] / ratio) for axis in (0, 1)]
        """Where the window starts, and how long it is, in rows and in columns of the image."""
        self.shape = (*size, *image.shape[2:])
        self.dtype = image.dtype if method == "nearest" else np.dtype(np.float32)
        self._afterwards = Afterwards()

    @property
    def computes(self) -> bool:
        """Whether more may be done with it on the way: it is float32, and nobody can change what it is of."""
        return self._method != "nearest" and isinstance(self._image, Picture)

    def then(self, afterwards: Afterwards) -> Resampled:
        """This, with more to be done on the way."""
        other = copy(self)
        other._afterwards = afterwards
        return other

    def window(self) -> tuple[Tables, list[int]] | None:
        """Its tables, and what kernels want to know of it; None where it is to be made by itself."""
        if self._method == "nearest" or not isinstance(self._image, Jpeg):
            return None
        return self._image.window(mirrored=self._afterwards.mirrored)

    def into(self, out: NDArray[Any], kept: Kept) -> None:
        image, begin = self._image.around(kept) if isinstance(self._image, Picture) else (self._image, (0, 0))
        if self._method == "nearest":
            rows, columns = (self._nearest(axis) - begin[axis] for axis in (0, 1))
            np.copyto(out, image[rows[:, None], columns])
            return
        if image.dtype not in (np.uint8, np.float32):
            image = image.astype(np.float32)
        self._bilinear(np.ascontiguousarray(image), begin, out)

    def _nearest(self, axis: int) -> NDArray[np.int64]:
        first, count, start, length = self._pixels(axis)
        return nearest(length, self._size[axis], count, start) + first

    def _bilinear(self, image: NDArray[Any], begin: tuple[int, int], out: NDArray[Any]) -> None:
        from penstock.kernels.compiled.resample import resample

        channels = math.prod(image.shape[2:])
        flat, lines = image.reshape(-1), out.reshape(len(out), -1)
        row, rows, top, height = self._pixels(0)
        column, columns, left, width = self._pixels(1)
        window = row - begin[0], rows, top, height, column - begin[1], columns, left, width
        resample(flat, image.shape[1], channels, *window, lines, *self._afterwards)

    def _pixels(self, axis: int) -> tuple[int, int, float, float]:
        """The first pixel that the window touches, how many it touches, and its start and length in them."""
        start, length = self._spans[axis]
        first = math.floor(start)
        return first, math.ceil(start + length) - first, start - first, length


def resampled_jpeg(
    data: memoryview, call: str, header: JpegHeader, window: Window, size: Size, method: str, channels: int
) -> Resampled:
    """A window of a JPEG, decoded no larger than is enough for the size that is wanted."""
    ratio = 8
    while ratio > 1 and (window[2] < size[0] * ratio or window[3] < size[1] * ratio):
        ratio //= 2
    ends = [window[axis] + window[axis + 2] for axis in (0, 1)]
    top, left = window[0] // ratio, window[1] // ratio
    small = (top, left, scaled(ends[0], ratio) - top, scaled(ends[1], ratio) - left)
    jpeg = Jpeg.of(data, call, JpegOptions(channels, ratio), header, small)
    return Resampled(jpeg, window, ratio, size, method)
