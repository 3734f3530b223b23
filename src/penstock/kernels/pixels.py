"""Rows of bytes gathered, mirrored, cast to float32 and put through arithmetic: the work on images.

The compiled kernel does all of it in one pass over the rows.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import loading
from penstock.kernels.halves import Both, one_by_one

Array = NDArray[Any]
Axes = tuple[int, int, int]
"""A row as three axes, of which the middle one is mirrored."""

ADD, SUBTRACT, SUBTRACTED, MULTIPLY, DIVIDE = range(5)
"""The steps: x + c, x - c, c - x, x * c, x / c."""
_UFUNCS = (np.add, np.subtract, np.subtract, np.multiply, np.divide)
PART = 4096
"""At most so many items go through all steps before the next: they stay in the nearest cache."""
SHARED = 1 << 20
"""So many bytes of results are worth a second thread."""


def run(
    source: Array,
    index: Array,
    mirrored: Array,
    axes: Axes,
    codes: Array,
    constants: Array,
    out: Array,
    both: Both = one_by_one,
) -> None:
    """Fill the rows of `out`, float32, from those of `source`, uint8: both of two axes.

    `index` names the rows, none means all in order. `mirrored` says which rows are to be mirrored, none
    means no row, and `axes` along what. `codes` and `constants` are the steps. `both` does the two halves of
    large works.
    """
    if not loading.ready():
        run_numpy(source, index, mirrored, axes, codes, constants, out)
        return
    from penstock.kernels.compiled import pixels

    parts = _parts(source.shape[1])
    source, out = (array.reshape(len(array), parts, -1) for array in (source, out))

    def rows(start: int, stop: int) -> None:
        part = slice(start, stop)
        own = source if len(index) else source[part]
        pixels.run(own, index[part], mirrored[part], axes, codes, constants, out[part])

    if out.nbytes < SHARED:
        rows(0, len(out))
    else:
        middle = 3 * len(out) // 5  # the other thread begins a little later
        both(lambda: rows(0, middle), lambda: rows(middle, len(out)))


@functools.lru_cache
def _parts(items: int) -> int:
    """Into how many equal parts to cut a row."""
    return next((parts for parts in range(1, items) if items % parts == 0 and items // parts <= PART), 1)


def run_numpy(
    source: Array, index: Array, mirrored: Array, axes: Axes, codes: Array, constants: Array, out: Array
) -> None:
    """The same, a pass a step."""
    rows = source[index] if len(index) else source
    if len(mirrored):
        chosen = np.flatnonzero(mirrored)
        turned = rows.copy()
        turned.reshape(-1, *axes)[chosen] = rows.reshape(-1, *axes)[chosen, :, ::-1]
        rows = turned
    np.copyto(out, rows)
    for code, constant in zip(codes.tolist(), constants, strict=True):
        left, right = (constant, out) if code == SUBTRACTED else (out, constant)
        _UFUNCS[code](left, right, out=out)
