"""The steps of arithmetic of `kernels.pixels`, for the items of a line, without the GIL.

Numba keeps what it has compiled of other files with this inside: delete its cache after a change here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from penstock.kernels.pixels import ADD, DIVIDE, MULTIPLY, SUBTRACT, SUBTRACTED


@njit(inline="always")
def compute(line: Any, first: int, codes: Any, constants: Any) -> None:
    """Put the items of a line through the steps from number `first` on, while they are near."""
    items = np.uint64(len(line))
    for step in range(first, len(codes)):
        code, constant = codes[step], constants[step]
        if code == ADD:
            for i in range(items):
                line[i] = line[i] + constant
        elif code == SUBTRACT:
            for i in range(items):
                line[i] = line[i] - constant
        elif code == SUBTRACTED:
            for i in range(items):
                line[i] = constant - line[i]
        elif code == MULTIPLY:
            for i in range(items):
                line[i] = line[i] * constant
        elif code == DIVIDE:
            for i in range(items):
                line[i] = line[i] / constant
