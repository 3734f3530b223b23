"""What an image is: where its height and its width are."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.blocks.rows import Rows
from penstock.blocks.trace import StandIn
from penstock.errors import ArgumentError


def as_image(image: Any, call: str) -> Any:
    """An array or its stand-in, of at least two axes."""
    if isinstance(image, StandIn) and not isinstance(image, Rows):
        image._refuse(f"uses {call} on images of several shapes")
    if not isinstance(image, Rows):
        image = np.asarray(image)
    if image.ndim not in (2, 3, 4):
        raise ArgumentError(
            f"{call}: expected an image of shape (height, width), (height, width, channels), or a "
            f"stack of the latter, got the shape {tuple(image.shape)}."
        )
    return image


def height_axis(image: Any) -> int:
    """The axis of the height, from the back; that of the width follows."""
    return -2 if len(image.shape) == 2 else -3
