"""Where the next frame of a TFRecord file may begin, behind bytes that are damaged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.crc32c import masked, plain_crc32c
from penstock.kernels.frames import HEAD


def next_head(data: NDArray[np.uint8], start: int, stop: int) -> int:
    """The first place in `data[start:stop]` with a length and the checksum that goes with it; -1 if none."""
    from penstock.kernels.compiled.frame_search import next_head as compiled

    return int(compiled(data, start, stop))


def plain_next_head(data: NDArray[np.uint8], start: int, stop: int) -> int:
    """`next_head` in plain Python: what the compiled one is compared with."""
    raw = data.tobytes()
    for at in range(start, stop - HEAD + 1):
        sum_of_length = int.from_bytes(raw[at + 8 : at + HEAD], "little")
        if masked(plain_crc32c(raw[at : at + 8])) == sum_of_length:
            return at
    return -1
