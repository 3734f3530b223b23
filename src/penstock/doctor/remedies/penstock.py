"""Remedies for Penstock."""

from __future__ import annotations

from penstock.doctor.remedies import Remedy

REMEDIES = [
    Remedy(
        "penstock-lent",
        "Batches of a Penstock dataset are kept",
        "A batch is lent: its memory is used again once it is dropped, and never while something "
        "refers to it.",
        "Keep numbers, or a copy of the few rows that are needed.",
        "kept.append(batch[0].copy())  # was: kept.append(batch)",
    ),
    Remedy(
        "penstock-runs",
        "Iterators of a Penstock dataset are not closed",
        "Each iteration that is kept and not closed has its buffers, threads and files.",
        "Use `with`, so that it ends with its block.",
        "with ds.iterate() as it:\n    first = next(it)",
    ),
]
