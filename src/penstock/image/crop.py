"""`random_crop`: a window at a random place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from penstock.blocks.rows import Rows
from penstock.blocks.trace import StandIn, block_function, trusted
from penstock.errors import ArgumentError
from penstock.image.flip import LARGE
from penstock.random.discrete import integers


@trusted
def random_crop(value: Any, size: Sequence[int], seed: int | None = None) -> Any:
    """Cut a window of `size`, one number an axis, at a random place, each place as likely.

    >>> import numpy as np
    >>> import penstock as ps
    >>> ds = ps.Dataset.from_tensor_slices(np.zeros((4, 9, 9, 3)))
    >>> ds.map(lambda x: ps.image.random_crop(x, (7, 7, 3))).element_spec
    TensorSpec(shape=(7, 7, 3), dtype=float64)
    """
    if isinstance(value, StandIn) and not isinstance(value, Rows):
        value._refuse("crops images of several shapes")
    if not isinstance(value, Rows):
        value = np.asarray(value)
    sizes = tuple(map(int, size))
    room = [own - wanted for own, wanted in zip(value.shape, sizes, strict=False)]
    if len(sizes) != value.ndim or min(room, default=0) < 0 or min(sizes, default=1) < 0:
        raise ArgumentError(
            f"ps.image.random_crop(size=): expected a size for each axis and none larger than the "
            f"image of shape {tuple(value.shape)}, got {sizes}."
        )
    places = [integers(0, most + 1, seed=seed) if most else None for most in room]
    return _cut(value, sizes, *places)


def _cut_rows(value: Rows, sizes: tuple[int, ...], *places: Any) -> Any:
    if not isinstance(value, Rows):
        places[0]._refuse("crops one image at several places")
    moved = [i for i, place in enumerate(places) if place is not None]
    if not moved:
        return value
    array = value._array
    if math.prod(sizes) * array.itemsize >= LARGE:
        return Rows(_one_by_one(value, sizes, places), value._trace)
    windows = sliding_window_view(array, [sizes[i] for i in moved], [i + 1 for i in moved])  # type: ignore[call-overload]
    starts: list[Any] = [slice(None)] * array.ndim
    index = [np.arange(len(array)), *[places[i]._array for i in moved]]
    for axis, start in zip([0, *[i + 1 for i in moved]], index, strict=True):
        starts[axis] = start
    cut = windows[tuple(starts)]
    # The axes that moved now come last; the rest, with the rows first, in their order.
    kept = [i for i in range(value.ndim) if i not in moved]
    order = [0, *(1 + (kept + moved).index(i) for i in range(value.ndim))]
    return Rows(np.ascontiguousarray(cut.transpose(order)), value._trace)


def _one_by_one(value: Rows, sizes: tuple[int, ...], places: Sequence[Any]) -> NDArray[Any]:
    array = value._array
    cut = value._trace.empty((len(array), *sizes), array.dtype)
    starts = [[0] * len(array) if place is None else place._array.tolist() for place in places]
    for out, image, corner in zip(cut, array, zip(*starts, strict=True), strict=True):
        out[...] = image[tuple(slice(at, at + size) for at, size in zip(corner, sizes, strict=True))]
    return cut


@block_function(_cut_rows)
def _cut(value: Any, sizes: tuple[int, ...], *places: Any) -> Any:
    starts = [0 if place is None else int(place) for place in places]
    window = tuple(slice(at, at + size) for at, size in zip(starts, sizes, strict=True))
    return np.ascontiguousarray(value[window])
