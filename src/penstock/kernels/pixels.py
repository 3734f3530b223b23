"""Rows of bytes gathered, mirrored, cast to float32 and put through arithmetic: the work on images.

The compiled kernel does all of it in one pass over the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.halves import Both, one_by_one

Array = NDArray[Any]
Index = NDArray[np.int64]
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
    begins: Index,
    mirrored: Array,
    axes: Axes,
    codes: Array,
    constants: Array,
    out: Array,
    both: Both = one_by_one,
) -> None:
    """Fill the rows of `out`, float32, of two axes, from rows of bytes at the addresses `begins`.

    `mirrored` says which rows are to be mirrored, none means no row, and `axes` along what. `codes` and
    `constants` are the steps. `both` does the two halves of large works. Whoever calls keeps the bytes there,
    and has seen that the kernels are loaded.
    """
    from penstock.kernels.compiled import pixels

    scattered = bool((np.diff(begins) != out.shape[1]).any())

    def rows(start: int, stop: int) -> None:
        part = slice(start, stop)
        pixels.run(begins[part], scattered, mirrored[part], axes, codes, constants, out[part])

    if out.nbytes < SHARED:
        rows(0, len(out))
    else:
        middle = 3 * len(out) // 5  # the other thread begins a little later
        both(lambda: rows(0, middle), lambda: rows(middle, len(out)))


def run_numpy(rows: Array, mirrored: Array, axes: Axes, codes: Array, constants: Array, out: Array) -> None:
    """The same of rows of two axes, a pass a step."""
    if len(mirrored):
        chosen = np.flatnonzero(mirrored)
        turned = rows.copy()
        turned.reshape(-1, *axes)[chosen] = rows.reshape(-1, *axes)[chosen, :, ::-1]
        rows = turned
    np.copyto(out, rows)
    for code, constant in zip(codes.tolist(), constants, strict=True):
        left, right = (constant, out) if code == SUBTRACTED else (out, constant)
        _UFUNCS[code](left, right, out=out)
