"""Rows gathered, mirrored, cast to float32 and put through arithmetic in one pass, without the GIL.

Rows are cut into parts that stay in the nearest cache through all steps. Numbers of items are unsigned: for
others, Numba looks at each whether it is negative, and computes one item at a time.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.np.numpy_support import carray

from penstock.kernels.compiled.arithmetic import compute
from penstock.kernels.compiled.memory import bytes_at, fetch, turn_word
from penstock.kernels.pixels import ADD, DIVIDE, MULTIPLY, PART, SUBTRACT, SUBTRACTED

AHEAD = 4
"""Rows lie anywhere, so the processor cannot guess the next: it is told so many rows before."""
NEAR = 2048
"""Of so many bytes; it finds the rest by itself."""


@njit(nogil=True, cache=True, error_model="numpy")
def run(begins, scattered, mirrored, axes, codes, constants, out):  # type: ignore[no-untyped-def]
    """As `pixels.run` says."""
    width = out.shape[1]
    turned = np.empty(width, np.uint8)
    for i in range(len(out)):
        row = carray(bytes_at(begins[i]), (width,))
        if scattered and i + AHEAD < len(begins):
            start = begins[i + AHEAD]
            for at in range(start, start + min(width, NEAR), 64):
                fetch(at)
        if len(mirrored) and mirrored[i]:
            _mirror(row, axes, turned)
            for first in range(0, width, PART):
                part = slice(first, first + PART)
                _compute(turned[part], codes, constants, out[i, part])
        else:
            for first in range(0, width, PART):
                part = slice(first, first + PART)
                _compute(row[part], codes, constants, out[i, part])


@njit(inline="always")
def _compute(source, codes, constants, out):  # type: ignore[no-untyped-def]
    """Cast items and do the first step with them at once; then the others."""
    items = np.uint64(out.size)
    code = codes[0] if len(codes) else -1
    constant = constants[0] if len(codes) else np.float32(0)
    if code == ADD:
        for k in range(items):
            out[k] = np.float32(source[k]) + constant
    elif code == SUBTRACT:
        for k in range(items):
            out[k] = np.float32(source[k]) - constant
    elif code == SUBTRACTED:
        for k in range(items):
            out[k] = constant - np.float32(source[k])
    elif code == MULTIPLY:
        for k in range(items):
            out[k] = np.float32(source[k]) * constant
    elif code == DIVIDE:
        for k in range(items):
            out[k] = np.float32(source[k]) / constant
    else:
        for k in range(items):
            out[k] = np.float32(source[k])
    compute(out, 1, codes, constants)


@njit(nogil=True, cache=True)
def _mirror(row, axes, turned):  # type: ignore[no-untyped-def]
    """Bytes with the middle one of their axes the other way round."""
    outer, length, inner = np.uint64(axes[0]), np.uint64(axes[1]), np.uint64(axes[2])
    one, eight = np.uint64(1), np.uint64(8)
    start, to = np.int64(row.ctypes.data), np.int64(turned.ctypes.data)
    for a in range(outer):
        base = a * length * inner
        if inner == one:
            last = base + length - one
            words = length // eight * eight
            for b in range(np.uint64(0), words, eight):
                turn_word(to + np.int64(base + b), start + np.int64(last - b) - 7)
            for b in range(words, length):
                turned[base + b] = row[last - b]
        else:
            for b in range(length):
                at, other = base + b * inner, base + (length - one - b) * inner
                for c in range(inner):
                    turned[at + c] = row[other + c]


def load() -> None:
    """Have it compiled, or read from Numba's cache."""
    byte, none, floats = np.zeros(1, np.uint8), np.zeros(0, np.int64), np.zeros((1, 1), np.float32)
    begins = np.array([byte.ctypes.data])
    run(begins, False, np.zeros(0, bool), (1, 1, 1), none, floats[0, :0], floats)
