"""Declaring and running pipelines in a loop leaves nothing behind."""

from __future__ import annotations

import resource
import threading

import numpy as np

import penstock as ps


def peak() -> float:
    """The most memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def one_pipeline(size: int) -> int:
    """Declare a pipeline, run it, and drop it."""
    ds = ps.Dataset.from_tensor_slices(np.arange(size)).map(lambda x: x * x).batch(100).prefetch(2)
    return sum(int(batch.sum()) for batch in ds)


if __name__ == "__main__":
    for _ in range(50):
        one_pipeline(2_000)
    before, threads = peak(), threading.active_count()
    for _ in range(300):
        one_pipeline(2_000)
    print(f"after 50 pipelines: {before:.0f} MiB; after 300 more: {peak() - before:+.1f} MiB")
    print(f"threads: {threads} before, {threading.active_count()} after")
