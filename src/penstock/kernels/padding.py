"""Laying rows of unequal length into one array whose rest is padding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LONG = 512
"""Rows of fewer items are laid by a mask of all, longer ones one by one."""
MASK = 1 << 16
"""So many items at once, at most: the mask of them stays in the processor's cache."""


def fill_padded(values: NDArray[Any], offsets: NDArray[np.int64], out: NDArray[Any], padding: Any) -> None:
    """Lay the spans `values[offsets[i]:offsets[i+1]]` at the starts of the rows of `out`.

    `out` has two axes and is written whole; no span is longer than its rows.
    """
    lengths = np.diff(offsets)
    if out.shape[1] < LONG:
        out[...] = padding
        places, rows = np.arange(out.shape[1]), max(1, MASK // max(1, out.shape[1]))
        for first in range(0, len(lengths), rows):
            part = slice(first, first + rows)
            end = min(first + rows, len(lengths))
            out[part][places < lengths[part, None]] = values[offsets[first] : offsets[end]]
        return
    bounds = offsets.tolist()
    for i, length in enumerate(lengths.tolist()):
        out[i, :length] = values[bounds[i] : bounds[i + 1]]
        out[i, length:] = padding
