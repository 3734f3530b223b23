"""Spans of bytes moved without the GIL, one memcpy each."""

from __future__ import annotations

from numba import njit

from penstock.kernels.compiled.memory import copy

_SIGNATURE = "void(int64, int64[::1], int64[::1], int64, int64[::1])"


@njit(_SIGNATURE, nogil=True, cache=True)
def move_spans(source, starts, lengths, target, places):  # type: ignore[no-untyped-def]
    """Copy the spans from `source + start` on to `target + place`, both addresses of bytes."""
    for i in range(len(starts)):
        copy(target + places[i], source + starts[i], lengths[i])
