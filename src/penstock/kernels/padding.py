"""Laying rows of unequal length into one array whose rest is padding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.spans import SHORT


def fill_padded(values: NDArray[Any], offsets: NDArray[np.int64], out: NDArray[Any], padding: Any) -> None:
    """Lay the spans `values[offsets[i]:offsets[i+1]]` at the starts of the rows of `out`.

    `out` has two axes and is written whole; no span is longer than its rows.
    """
    lengths = np.diff(offsets)
    if out.size < SHORT * len(lengths):
        inside = np.arange(out.shape[1]) < lengths[:, None]
        out[...] = padding
        out[inside] = values[offsets[0] : offsets[-1]]
        return
    bounds = offsets.tolist()
    for i, length in enumerate(lengths.tolist()):
        out[i, :length] = values[bounds[i] : bounds[i + 1]]
        out[i, length:] = padding
