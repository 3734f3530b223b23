"""Remedies for Penstock."""

from __future__ import annotations

from penstock.doctor.remedies import DICTS, Remedy

REMEDIES = [
    Remedy(
        kind="penstock-lent",
        title="Batches of a Penstock dataset are kept",
        why=(
            "A batch is lent: its memory is used again once it is dropped, and never while something refers "
            "to it."
        ),
        fix="Keep numbers, or a copy of the few rows that are needed.",
        sample="kept.append(batch[0].copy())  # was: kept.append(batch)",
        name="kept",
        samples=dict.fromkeys(DICTS, "kept[key] = batch[0].copy()  # was: kept[key] = batch"),
        bad="for batch in ds:\n    kept.append(batch)",
        seen=(
            "The bytes that the ledgers of open runs have lent, and arrays of Penstock's pool in containers "
            "of yours."
        ),
        other="A batch that is dropped goes back to the pool at once.",
    ),
    Remedy(
        kind="penstock-runs",
        title="Iterators of a Penstock dataset are not closed",
        why="Each iteration that is kept and not closed has its buffers, threads and files.",
        fix="Use `with`, so that it ends with its block.",
        sample="with ds.iterate() as it:\n    first = next(it)",
        bad=("for epoch in range(epochs):\n    it = iter(ds)\n    first = next(it)\n    begun.append(it)"),
        seen="Runs that are open, and iterators that a container of yours keeps.",
        other="An iteration that comes to its end, or is dropped, closes itself.",
    ),
]
