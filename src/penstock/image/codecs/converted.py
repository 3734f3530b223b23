"""A picture as another dtype, scaled as `ps.image.convert_image_dtype` scales."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.image.codecs.picture import Kept, Picture
from penstock.image.convert import convert_image_dtype


class Converted(Picture):
    """A picture as another dtype."""

    __slots__ = ("_picture",)

    def __init__(self, picture: Picture, dtype: np.dtype[Any]) -> None:
        self._picture = picture
        self.shape, self.dtype = picture.shape, dtype

    def into(self, out: NDArray[Any], kept: Kept) -> None:  # noqa: ARG002
        np.copyto(out, convert_image_dtype(self._picture.decoded(), self.dtype))
