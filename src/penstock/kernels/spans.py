"""Gathering spans of unequal length out of one flat buffer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.halves import Both, one_by_one

Empty = Callable[[Any, Any], NDArray[Any]]
"""Allocates: `empty(shape, dtype)`."""

FEW = 16
"""Fewer spans are not worth a compiled kernel's call."""
SHARED = 1 << 20
"""So many bytes are worth a second thread."""
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


def gather_places(
    begins: NDArray[np.int64], lengths: NDArray[np.int64], empty: Empty = np.empty
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes from these addresses on laid end to end, and their offsets."""
    offsets = offsets_of(lengths)
    out = empty(int(offsets[-1]), np.dtype(np.uint8))
    move_places(begins, lengths, out, offsets[:-1])
    return out, offsets


def move_places(
    begins: NDArray[np.int64], lengths: NDArray[np.int64], out: NDArray[Any], places: NDArray[np.int64]
) -> None:
    """Copy the bytes from these addresses on to `out`, which lies in one piece, each from its place on.

    Whoever calls keeps the memory there, and holds all of them to its bounds.
    """
    from penstock.kernels.compiled.spans import move_spans

    move_spans(0, np.ascontiguousarray(begins), lengths, out.ctypes.data, places)


def exchange_rows(
    held: NDArray[Any],
    sources: NDArray[np.int64],
    begins: NDArray[np.int64],
    slots: NDArray[np.int64],
    last: NDArray[np.int64],
    out: NDArray[Any],
    both: Both = one_by_one,
) -> None:
    """Do what `order.exchange` says with rows, those that come being at the addresses `begins`.

    What comes out of a slot of `held` goes to `out`, and what stays takes its place while that is near.
    `both` does the left and the right half of large rows.
    """
    from penstock.kernels.compiled import spans

    size = out[:1].nbytes
    rows = sources, np.ascontiguousarray(begins), slots, last, held.ctypes.data, out.ctypes.data, size

    def part(first: int, stop: int) -> None:
        spans.exchange_rows(*rows, first, stop - first)

    if out.nbytes < SHARED:
        part(0, size)
    else:
        middle = 3 * size // 5  # the other thread begins a little later
        both(lambda: part(0, middle), lambda: part(middle, size))


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
