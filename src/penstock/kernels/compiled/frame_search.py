"""Where the next frame of a TFRecord file may begin, behind bytes that are damaged."""

from __future__ import annotations

from typing import Any

from numba import njit

from penstock.kernels.compiled.frames import _length
from penstock.kernels.frames import HEAD


@njit("int64(Array(uint8, 1, 'C', True), int64, int64)", nogil=True, cache=True)
def next_head(data: Any, start: Any, stop: Any) -> Any:
    """See `kernels.frame_search.next_head`."""
    for at in range(start, stop - HEAD + 1):
        if _length(data, at) >= 0:
            return at
    return -1
