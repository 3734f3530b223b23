"""Child processes: how many there are, and the memory that is their own."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from penstock.doctor.signals import Look, Signal


def pids() -> Iterator[int]:
    """This process's children: those that a thread of Python's has forked."""
    for thread in threading.enumerate():
        try:
            yield from map(int, Path(f"/proc/self/task/{thread.native_id}/children").read_text().split())
        except OSError:
            continue  # the thread has ended


def count(_: Look) -> float:
    """How many children there are."""
    return float(len(list(pids())))


def own_memory(_: Look) -> float | None:
    """The anonymous bytes of all children together."""
    total, some = 0.0, False
    for pid in pids():
        try:
            words = Path(f"/proc/{pid}/statm").read_text().split()
        except OSError:
            continue
        some = True
        total += (int(words[1]) - int(words[2])) * float(os.sysconf("SC_PAGE_SIZE"))
    return total if some else None


SIGNALS = [
    Signal("process.children", "child-processes", "processes", 5, count, quick=True),
    Signal("memory.children", "child-memory", "bytes", 4 << 20, own_memory, bytes=True, quick=True),
]
