"""Grey, colour and alpha, at 8 or 16 bits: from what an image has to what is wanted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_WEIGHTS = np.array([9797, 19234, 3737], np.uint32)
"""What red, green and blue add to grey, in parts of 32,768, as libpng rounds them."""


def convert(image: NDArray[Any], out: NDArray[Any]) -> None:
    """The image with the channels and the dtype of `out`, in the order in which libpng converts."""
    channels = out.shape[2]
    own = image.shape[2]
    alpha = image[..., -1:] if own % 2 == 0 else None
    colours = image[..., :-1] if own % 2 == 0 else image
    if channels < 3 and colours.shape[2] == 3:
        colours = _grey(colours)
    wanted = 1 if channels < 3 else 3
    out[..., :wanted] = _of_bits(colours, out.dtype)
    if channels % 2 == 0:
        out[..., wanted:] = np.iinfo(out.dtype).max if alpha is None else _of_bits(alpha, out.dtype)


def _grey(colours: NDArray[Any]) -> NDArray[Any]:
    half = 1 << 14 if colours.dtype == np.uint16 else 0
    grey = (colours.astype(np.uint32) @ _WEIGHTS + np.uint32(half)) >> np.uint32(15)
    return grey.astype(colours.dtype)[..., None]


def _of_bits(samples: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    if samples.dtype == dtype:
        return samples
    if dtype == np.uint8:
        return (samples >> np.uint16(8)).astype(np.uint8)
    return samples.astype(np.uint16) * np.uint16(257)
