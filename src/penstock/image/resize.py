"""`resize`: an image of another size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.columns import RaggedColumn
from penstock.blocks.rows import Rows
from penstock.blocks.trace import Opaque, block_function
from penstock.errors import ArgumentError
from penstock.image.codecs.picture import Picture
from penstock.image.codecs.put_off import pictures_of
from penstock.image.codecs.rows import fill
from penstock.image.images import as_image, height_axis
from penstock.image.neighbours import METHODS, covered, nearest, neighbours, sides
from penstock.image.resampled import Resampled, Size
from penstock.image.smaller import Smaller
from penstock.image.undecoded import resampled_rows
from penstock.kernels import loading
from penstock.kernels.spans import Empty

_CALL = "ps.image.resize"


class _Wanted:
    """What is wanted, with its arguments checked."""

    def __init__(
        self,
        size: Sequence[int],
        method: str = "bilinear",
        preserve_aspect_ratio: bool = False,
        antialias: bool = False,
    ) -> None:
        self._size = sides(size, f"{_CALL}(size=)")
        if method not in METHODS:
            raise ArgumentError(f"{_CALL}(method=): expected one of {METHODS}, got {method!r}.")
        self._method, self._whole, self._smooth = method, preserve_aspect_ratio, antialias

    def picture(self, image: NDArray[Any] | Picture) -> Picture | None:
        """One image as the compiled kernel makes it; None where NumPy is to do it."""
        old, new = self._sizes(image)
        if len(image.shape) == 4 or 0 in (*image.shape, *new) or image.dtype.kind not in "biuf":
            return None
        if self._smooth and self._method != "nearest" and (new[0] < old[0] or new[1] < old[1]):
            return Smaller(image, new) if new[0] < old[0] and new[1] < old[1] else None
        if image.dtype != np.uint8 and self._method != "nearest" and (old[0] == new[0] or old[1] == new[1]):
            return None  # an axis that stays as it is has no neighbours: infinities stay, too
        return Resampled(image, (0, 0, *old), 1, new, self._method)

    def stack(self, stack: NDArray[Any], empty: Empty = np.empty) -> NDArray[Any] | None:
        """Images in a stack as the compiled kernel makes them, whatever axes are before theirs."""
        if not stack.size:
            return None
        images = stack.reshape(-1, *stack.shape[-3:])
        pictures = [picture for one in images if (picture := self.picture(one)) is not None]
        if not pictures:
            return None
        made = empty((len(pictures), *pictures[0].shape), pictures[0].dtype)
        fill(pictures, made, 0, len(pictures))
        return made.reshape(*stack.shape[:-3], *pictures[0].shape)

    def of(self, image: Any) -> Any:
        """The image by NumPy; it may stand for many."""
        axis = height_axis(image)
        old, new = self._sizes(image)
        if self._method == "nearest":
            for which in (0, 1):
                image = np.take(image, nearest(old[which], new[which], old[which]), axis + which)
            return image
        image = image.astype(np.float32)
        for which in (1, 0):
            if new[which] == old[which]:
                continue
            if self._smooth and new[which] < old[which]:
                image = _weighed(image, axis + which, *covered(old[which], new[which]))
            else:
                image = _between(image, axis + which, *neighbours(old[which], new[which], old[which]))
        return image

    def _sizes(self, image: Any) -> tuple[Size, Size]:
        """The height and the width of an image, and the new ones."""
        axis = height_axis(image)
        old = (image.shape[axis], image.shape[axis + 1])
        return old, _within(old, self._size) if self._whole else self._size


def _resize_rows(images: Any, *args: Any, **kwargs: Any) -> Any:
    wanted = _Wanted(*args, **kwargs)
    each = _each(images)
    if each is not None and loading.earned(sum(math.prod(one.shape) for one in each)):
        pictures = [picture for one in each if (picture := wanted.picture(one)) is not None]
        if len(pictures) == images._trace.rows:
            return resampled_rows(pictures, images._trace)
    image = as_image(images, _CALL)
    if isinstance(image, Rows) and image.ndim == 4 and loading.earned(image._array.nbytes):
        stack = wanted.stack(image._array, image._trace.empty)
        if stack is not None:
            return Rows(stack, image._trace)
    return wanted.of(image)


def _each(images: Any) -> Any:
    """The image of each row, decoded or not; None where they are no images."""
    undecoded = pictures_of(images)
    if undecoded is not None:
        return undecoded.leave()
    if isinstance(images, Rows) and images.ndim in (2, 3):
        return images._array
    if isinstance(images, Opaque) and isinstance(images._column, RaggedColumn):
        return [as_image(image, _CALL) for image in images._column.items()]
    return None


@block_function(_resize_rows)
def resize(
    images: Any,
    size: Sequence[int],
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
) -> Any:
    """Change the height and the width, as `tf.image.resize` does.

    `"bilinear"` gives float32, `"nearest"` keeps the dtype. Pixels are areas whose centres lie at
    halves, so that an image of another size covers the same scene. With `antialias=True`, the pixels
    of a smaller bilinear image weigh all the old pixels that they cover, rather than the nearest two.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ps.image.resize(np.array([[0.0, 4.0]]), (1, 4))
    array([[0., 1., 3., 4.]], dtype=float32)
    """
    wanted = _Wanted(size, method, preserve_aspect_ratio, antialias)
    image = as_image(images, _CALL)
    if loading.earned(image.nbytes):
        if image.ndim == 4:
            stack = wanted.stack(image)
            return wanted.of(image) if stack is None else stack
        picture = wanted.picture(image)
        if picture is not None:
            return picture.decoded()
    return wanted.of(image)


def _within(old: tuple[int, int], new: tuple[int, int]) -> tuple[int, int]:
    """The largest size with the old sides' ratio that fits into the new one."""
    scale = min(np.float32(new[0]) / np.float32(old[0]), np.float32(new[1]) / np.float32(old[1]))
    return int(np.round(scale * np.float32(old[0]))), int(np.round(scale * np.float32(old[1])))


def _between(
    image: Any,
    axis: int,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    share: NDArray[np.float32],
) -> Any:
    first, second = np.take(image, low, axis), np.take(image, high, axis)
    share = share.reshape(-1, *(1,) * (-1 - axis))
    return first + (second - first) * share


def _weighed(image: Any, axis: int, pixels: NDArray[np.int64], weights: NDArray[np.float32]) -> Any:
    shape = (-1, *(1,) * (-1 - axis))
    total: Any = np.float32(0)
    for index, weight in zip(pixels, weights, strict=True):
        total = total + np.take(image, index, axis) * weight.reshape(shape)
    return total
