"""Spans of bytes moved without the GIL, one memcpy each."""

from __future__ import annotations

from numba import njit

from penstock.kernels.compiled.memory import copy

_SIGNATURE = "void(int64, int64[::1], int64[::1], int64, int64[::1])"
_EXCHANGE = "void(int64[::1], int64[::1], int64[::1], int64[::1], int64, int64, int64, int64, int64)"


@njit(_SIGNATURE, nogil=True, cache=True)
def move_spans(source, starts, lengths, target, places):  # type: ignore[no-untyped-def]
    """Copy the spans from `source + start` on to `target + place`, both addresses of bytes."""
    for i in range(len(starts)):
        copy(target + places[i], source + starts[i], lengths[i])


@njit(_EXCHANGE, nogil=True, cache=True)
def exchange_rows(sources, begins, slots, last, held, out, size, first, count):  # type: ignore[no-untyped-def]
    """As `spans.exchange_rows` says, with `count` bytes of each row from the `first` on.

    `held` and `out` are addresses, of rows of `size` bytes.
    """
    held += first
    out += first
    put = 0
    for i in range(len(sources)):
        source = sources[i]
        copy(out + i * size, held + source * size if source >= 0 else begins[-1 - source] + first, count)
        if put < len(last) and last[put] == i:
            copy(held + slots[put] * size, begins[i] + first, count)
            put += 1
