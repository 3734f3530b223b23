"""Gathering spans of unequal length out of one flat buffer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Empty = Callable[[Any, Any], NDArray[Any]]
"""Allocates: `empty(shape, dtype)`."""

FEW = 16
"""Fewer spans are not worth a compiled kernel's call."""
SHORT = 48
"""Spans of fewer items on average are gathered by index arithmetic, longer ones one by one."""


def offsets_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The offsets of spans of these lengths laid end to end: one more than there are spans."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def gather_spans(
    values: NDArray[Any],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    empty: Empty = np.empty,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The spans `values[start:start+length]` laid end to end, and their offsets."""
    offsets = offsets_of(lengths)
    total = int(offsets[-1])
    out = empty(total, values.dtype)
    if _move_compiled(values, starts, lengths, out, offsets[:-1]):
        return out, offsets
    if total < SHORT * len(lengths):
        _gather_by_index(values, starts, lengths, offsets, out)
    else:
        _gather_one_by_one(values, starts, lengths, offsets, out)
    return out, offsets


def _move_compiled(
    values: NDArray[Any],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    out: NDArray[Any],
    places: NDArray[np.int64],
) -> bool:
    """Move spans of bytes by the compiled kernel, where Numba is loaded already; whether it was."""
    if "numba" not in sys.modules or values.dtype != np.uint8 or len(starts) < FEW:
        return False
    if not values.flags.c_contiguous or not out.flags.c_contiguous:
        return False
    from penstock.kernels.compiled.spans import move_spans

    arrays = [np.ascontiguousarray(array, np.int64) for array in (starts, lengths, places)]
    move_spans(values.ctypes.data, arrays[0], arrays[1], out.ctypes.data, arrays[2])
    return True


def _gather_by_index(
    values: NDArray[Any],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[Any],
) -> None:
    # Pieces of a few thousand spans keep the index small beside what it gathers.
    for first in range(0, len(lengths), 4096):
        last = min(first + 4096, len(lengths))
        base, end = offsets[first], offsets[last]
        index = np.repeat(starts[first:last] - offsets[first:last], lengths[first:last])
        index += np.arange(base, end)
        np.take(values, index, out=out[base:end], mode="clip")


def _gather_one_by_one(
    values: NDArray[Any],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    offsets: NDArray[np.int64],
    out: NDArray[Any],
) -> None:
    ends = (starts + lengths).tolist()
    places = offsets.tolist()
    for i, (start, end) in enumerate(zip(starts.tolist(), ends, strict=True)):
        out[places[i] : places[i + 1]] = values[start:end]


def scatter_spans(
    out: NDArray[Any],
    places: NDArray[np.int64],
    values: NDArray[Any],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> None:
    """Write the spans `values[start:start+length]` to `out`, each from its place on."""
    if _move_compiled(values, starts, lengths, out, places):
        return
    total = int(lengths.sum())
    if total >= SHORT * len(lengths):
        ends = (starts + lengths).tolist()
        last = (places + lengths).tolist()
        firsts = zip(places.tolist(), starts.tolist(), strict=True)
        for i, (place, start) in enumerate(firsts):
            out[place : last[i]] = values[start : ends[i]]
        return
    for first in range(0, len(lengths), 4096):
        some = slice(first, first + 4096)
        offsets = offsets_of(lengths[some])
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths[some])
        source = np.repeat(starts[some], lengths[some]) + within
        out[np.repeat(places[some], lengths[some]) + within] = values[source]
