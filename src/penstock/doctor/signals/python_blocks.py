"""Small objects of Python: how many blocks its allocator has handed out."""

from __future__ import annotations

import sys

from penstock.doctor.signals import Look, Signal


def blocks(_: Look) -> float:
    """Blocks of at most 512 bytes that are in use."""
    return float(sys.getallocatedblocks())


SIGNALS = [Signal("python.blocks", "python-objects", "blocks", 5000, blocks, quick=True)]
