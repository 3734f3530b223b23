"""Shared memory: segments and the pages of them that are mapped here."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.doctor.signals import Look, Signal


def mapped(_: Look) -> float:
    """Resident bytes of shared memory in this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssShmem:"):
            return int(line.split()[1]) * 1024.0
    return 0.0


def segments(_: Look) -> float:
    """How many named segments this user has in `/dev/shm`."""
    me = os.getuid()
    with os.scandir("/dev/shm") as found:
        return float(sum(entry.stat(follow_symlinks=False).st_uid == me for entry in found))


_OWN: set[str] = set()
"""Segments that were seen mapped into this process."""


def own_segments(_: Look) -> float:
    """How many of the segments that are there were made, or used, by this process."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        name = line.partition("/dev/shm/")[2]
        if name:
            _OWN.add(name)
    _OWN.intersection_update(found.name for found in Path("/dev/shm").iterdir())
    return float(len(_OWN))


SIGNALS = [
    Signal("memory.shared", "shared-memory", "bytes", 1 << 20, mapped, bytes=True, quick=True),
    Signal("process.segments", "shared-memory", "segments", 6, segments, quick=True, at_line=own_segments),
]
