"""Windows of many JPEGs with the same tables: decoded, and brought to a size, in one call without the GIL."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.extending import intrinsic

from penstock.kernels.compiled.crc32c import BYTES
from penstock.kernels.compiled.jpeg import TABLES, paint, plain, walk
from penstock.kernels.compiled.resample import resample

ADDRESS, LENGTH, START, HEIGHT, WIDTH, TOP, LEFT, ROWS, COLUMNS, MIRRORED = range(10)
"""What is known of an image: where its bytes are, and its code in them; its size; the window; and more."""
CODE, PLANES, LINES, PIXELS, STOP = range(5)
"""Where in memory parts of the work are."""

_NUMBERS = types.int64[::1]
_MEMORY = types.Tuple((types.int16[::1], types.uint8[::1], _NUMBERS))  # type: ignore[no-untyped-call]
"""Groups, all zeros; memory; and the places of the parts of the work in it."""


def _pointer_made(typing: Any, address: Any) -> Any:  # noqa: ARG001
    """An address as what `carray` takes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.inttoptr(args[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


_pointer: Any = intrinsic(_pointer_made)


@njit(types.boolean(BYTES, _NUMBERS, TABLES, _MEMORY), nogil=True, cache=True)
def decode(data: Any, image: Any, tables: Any, room: Any) -> Any:
    """The pixels of a window, from `places[PIXELS]` of the memory on; whether they could be decoded here.

    The groups are zeros again afterwards.
    """
    halved, codes = tables[0], tables[1]
    groups, memory, places = room
    unit = 8 << halved
    top, left, height, width = image[TOP], image[LEFT], image[ROWS], image[COLUMNS]
    first_row, first_column = (max(top, 1) - 1) // unit, (max(left, 1) - 1) // unit
    across = (image[WIDTH] + unit - 1) // unit
    last_row = min((top + height) // unit, (image[HEIGHT] + unit - 1) // unit - 1)
    last_column = min((left + width) // unit, across - 1)
    down, beside = last_row - first_row + 1, last_column - first_column + 1
    wide, narrow = ((beside << halved) + 15) // 16 * 128, (beside + 15) // 16 * 128
    blue = down * unit * wide
    red = blue + down * 8 * narrow
    parts = np.empty((6 if halved else 3, 9), np.int64)
    part = group = 0
    for component in range(3):
        many = 1 + halved if component == 0 else 1
        stride, begin = (wide, 0) if component == 0 else (narrow, blue if component == 1 else red)
        for line in range(many):
            for block in range(many):
                parts[part, 0] = component
                parts[part, 1], parts[part, 2] = codes[component, 0], codes[component, 1]
                parts[part, 3], parts[part, 4], parts[part, 5] = group, many, block
                parts[part, 6] = begin + line * 8 * stride
                parts[part, 7], parts[part, 8] = stride, 8 * many * stride
                part += 1
            group += stride * 8
    code = memory[places[CODE] : places[PLANES]]
    planes = memory[places[PLANES] : places[LINES]]
    size = plain(data, image[START], code)
    window = np.array([across, first_row, last_row, first_column, last_column])
    if size < 0 or not walk(code, size, tables, parts, window, groups, planes):
        groups[:] = 0
        return False
    where = np.array(
        [
            *(height, width, top - first_row * unit, left - first_column * unit, 0, blue, red, wide, narrow),
            *(halved, first_row * 8, first_column * 8, (image[HEIGHT] + 1) >> 1, (image[WIDTH] + 1) >> 1),
        ]
    )
    paint(planes, where, memory[places[LINES] : places[PIXELS]], memory[places[PIXELS] : places[STOP]])
    return True


@njit(
    types.void(
        *(types.int64[:, ::1], TABLES, _MEMORY),
        *(types.float32[:, :, ::1], _NUMBERS, types.float32[::1], types.uint8[::1]),
    ),
    nogil=True,
    cache=True,
)
def resampled(images: Any, tables: Any, room: Any, out: Any, steps: Any, constants: Any, done: Any) -> None:
    """Windows at the size of `out`, then mirrored and put through the steps; `done` says which."""
    for i in range(len(images)):
        image = images[i]
        data = carray(_pointer(image[ADDRESS]), (image[LENGTH],), np.uint8)
        done[i] = decode(data, image, tables, room)
        if done[i]:
            _, memory, places = room
            height, width = image[ROWS], image[COLUMNS]
            pixels = memory[places[PIXELS] : places[STOP]]
            resample(
                *(pixels, width, 3, 0, height, 0.0, float(height), 0, width, 0.0, float(width)),
                *(out[i], image[MIRRORED] != 0, steps, constants),
            )
