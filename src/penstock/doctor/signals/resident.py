"""Resident memory: anonymous pages of this process. Pages of files can go at any moment and do not count."""

from __future__ import annotations

import mmap
from pathlib import Path

from penstock.doctor.signals import Look, Signal

STATM = Path("/proc/self/statm")


def anonymous(_: Look) -> float:
    """Resident bytes that are neither pages of files nor shared."""
    with STATM.open("rb", buffering=0) as file:
        words = file.read(100).split()
    return (int(words[1]) - int(words[2])) * float(mmap.PAGESIZE)


def asked(_: Look) -> float:
    """Bytes of memory that can be written to, whether they are in use by now or not."""
    with STATM.open("rb", buffering=0) as file:
        return int(file.read(100).split()[5]) * float(mmap.PAGESIZE)


def of_files(_: Look) -> float:
    """Resident bytes of files and of shared memory."""
    with STATM.open("rb", buffering=0) as file:
        return int(file.read(100).split()[2]) * float(mmap.PAGESIZE)


SIGNALS = [
    Signal(
        "memory.anonymous",
        "native-memory",
        "bytes",
        3 << 20,
        anonymous,
        bytes=True,
        quick=True,
        within="memory.asked",
        idle="memory.heap_free",
    ),
    Signal("memory.asked", "", "bytes", 1 << 60, asked),
    Signal("memory.files", "", "bytes", 1 << 60, of_files),
]
