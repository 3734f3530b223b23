"""Batches that Penstock has lent to the user and that were not dropped, and runs that were not closed."""

from __future__ import annotations

import sys
from typing import Any

from penstock.doctor.signals import Look, Signal

RUN = "penstock.engine.run"
DEEPEST = 8
"""So many bases of an array are looked at."""


def _runs() -> list[Any]:
    return list(sys.modules[RUN].living)


def lent(_: Look) -> float | None:
    """Bytes of batches that the user has."""
    runs = _runs()
    return float(sum(run.ledger.lent for run in runs)) if runs else None


def open_runs(_: Look) -> float:
    """Runs that were not closed."""
    return float(sum(not run.closed for run in _runs()))


def kept(thing: object, where: str) -> str | None:
    """An iterator, or a batch: an array whose root is Penstock's."""
    del where
    iterator = sys.modules.get("penstock.engine.iterator")
    if iterator is not None and isinstance(thing, iterator.Iterator):
        return "penstock-runs"
    buffers = sys.modules.get("penstock.memory.buffers")
    if buffers is None:
        return None
    for one in list(thing)[:4] if isinstance(thing, tuple) else [thing]:
        base = getattr(one, "base", None)
        for _ in range(DEEPEST):  # the base of a dtype is the dtype itself
            if isinstance(base, buffers.Lease):
                return "penstock-lent"
            if type(base).__module__.partition(".")[0] not in ("numpy", "penstock"):
                break
            base = getattr(base, "base", None)
    return None


SIGNALS = [
    Signal("memory.lent", "penstock-lent", "bytes", 1 << 20, lent, needs=RUN, bytes=True),
    Signal("penstock.runs", "penstock-runs", "open runs", 5, open_runs, needs=RUN),
]
