"""Open files, sockets and pipes."""

from __future__ import annotations

import os

from penstock.doctor.signals import Look, Signal


def descriptors(_: Look) -> float:
    """How many descriptors this process has open."""
    return float(sum(1 for _ in os.scandir("/proc/self/fd")))


SIGNALS = [Signal("process.descriptors", "file-descriptors", "open files", 6, descriptors, quick=True)]
