"""An image made smaller, in which each pixel weighs all the old ones that it covers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.image.codecs.picture import Kept, Picture
from penstock.image.neighbours import covered


class Smaller(Picture):
    """The image at a smaller height and width: what `resize` with `antialias` gives, to the last bit."""

    __slots__ = ("_image",)

    def __init__(self, image: NDArray[Any] | Picture, size: tuple[int, int]) -> None:
        self._image = image
        self.shape = (*size, *image.shape[2:])
        self.dtype = np.dtype(np.float32)

    def into(self, out: NDArray[Any], kept: Kept) -> None:
        from penstock.kernels.compiled.resample import weigh

        image = self._image.around(kept)[0] if isinstance(self._image, Picture) else self._image
        if image.dtype not in (np.uint8, np.float32):
            image = image.astype(np.float32)
        flat = np.ascontiguousarray(image).reshape(len(image), -1)
        columns, rows = (covered(image.shape[axis], self.shape[axis]) for axis in (1, 0))
        weigh(flat, math.prod(image.shape[2:]), *columns, *rows, out.reshape(len(out), -1))
