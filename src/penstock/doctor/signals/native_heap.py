"""The heap of the C library: what is in use of it. What it keeps free for later is no leak."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from penstock.doctor.signals import Look, Signal

FIELDS = [
    "arena",
    "ordblks",
    "smblks",
    "hblks",
    "hblkhd",
    "usmblks",
    "fsmblks",
    "uordblks",
    "fordblks",
    "keepcost",
]


class _Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in FIELDS]


@cache
def _mallinfo() -> Any:
    try:
        call = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):  # another C library
        return None
    call.restype = _Info
    return call


def in_use(_: Look) -> float | None:
    """Bytes that were asked for and not given back."""
    call = _mallinfo()
    if call is None:
        return None
    info = call()
    return float(info.uordblks + info.hblkhd)


def free(_: Look) -> float | None:
    """Bytes that the C library has and that nobody uses: its high water."""
    call = _mallinfo()
    return None if call is None else float(call().fordblks)


SIGNALS = [
    Signal("memory.heap", "native-memory", "bytes", 1 << 20, in_use, bytes=True, quick=True),
    Signal("memory.heap_free", "", "bytes", 1 << 60, free),
]
