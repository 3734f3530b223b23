"""`Picture`: a compressed image whose header has been read, and whose pixels are yet to be decoded."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import DataError

Window = tuple[int, int, int, int]
"""Where a crop starts, from above and from the left, its height and its width."""
LARGEST = 1 << 29
"""No image is decoded that would have more bytes than this: a damaged header may claim anything."""


class Kept:
    """Memory for one picture after another."""

    def __init__(self) -> None:
        self._bytes: NDArray[np.uint8] = np.empty(0, np.uint8)

    def bytes(self, size: int) -> NDArray[np.uint8]:
        """So many bytes, for one picture: the next one has the same memory."""
        if len(self._bytes) < size:
            self._bytes = np.empty(size * 5 // 4, np.uint8)
        return self._bytes[:size]


class Picture(ABC):
    """An image that is known by its header. It shares nothing with others: threads may divide them."""

    __slots__ = ("dtype", "shape")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @abstractmethod
    def into(self, out: NDArray[Any], kept: Kept) -> None:
        """Decode into `out`, which has the picture's shape and dtype, and its items in order."""

    def around(self, kept: Kept) -> tuple[NDArray[Any], tuple[int, int]]:  # noqa: ARG002
        """The decoded image, or a part that has all that is wanted, in memory of `kept`; where it begins."""
        return self.decoded(), (0, 0)

    def decoded(self) -> NDArray[Any]:
        """The pixels, in an array of their own."""
        out = np.empty(self.shape, self.dtype)
        self.into(out, Kept())
        return out


def check_size(call: str, kind: str, height: int, width: int, pixel_bytes: int) -> None:
    """Refuse an image without pixels, and one that is too large, before anything is allocated."""
    if height < 1 or width < 1:
        raise DataError(
            f"{call}: expected an image with pixels, got a {kind} whose header says {height} x {width}."
        )
    size = math.prod((height, width, pixel_bytes))
    if size > LARGEST:
        raise DataError(
            f"{call}: expected an image of at most {LARGEST >> 20} MiB, got a {kind} whose header says "
            f"{height} x {width} pixels, {size >> 20} MiB. If it is no mistake, cut it into smaller ones."
        )


def check_length(call: str, kind: str, height: int, width: int, least: int, length: int) -> None:
    """Refuse contents that are too short for what their header says, before anything is allocated."""
    if length < least:
        raise DataError(
            f"{call}: expected at least {least} bytes for a {kind} whose header says {height} x {width} "
            f"pixels, got {length}. The contents are cut short, or the header is damaged."
        )
