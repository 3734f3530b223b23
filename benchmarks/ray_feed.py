"""A heavy map in this process, in worker processes, and in Ray actors, on the same cores; and shards written.

`python -m benchmarks.ray_feed` in an environment with `penstock[ray]`. Prints images a second, the processor
time an image in this process, and the bytes that the run held at most. The work is Python that holds the GIL,
as augmentation does: about 2 ms an image.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import penstock as ps

IMAGES = 3000
SHAPE = (128, 128, 3)
STEPS = 12_000
BUDGET = "64MiB"
ROUNDS = 2
"""The best of so many counts: others may be at work on the machine."""
CORES = len(os.sched_getaffinity(0))


def heavy(number: Any) -> dict[str, Any]:
    """Make an image of 48 KiB, with some Python in between."""
    total = 0
    for step in range(STEPS):
        total = (total * 31 + step + int(number)) & 0xFFFF
    pixels = ps.random.uniform((8, 8, 3), 0, 255).astype(np.uint8)
    return {"image": np.tile(pixels, (SHAPE[0] // 8, SHAPE[1] // 8, 1)), "label": total}


def source() -> ps.Dataset:
    """The numbers of the images, in a random order."""
    return ps.Dataset.range(IMAGES).shuffle(IMAGES, seed=1)


class Seen(NamedTuple):
    """What one work came to."""

    rate: float
    """Images a second, after the first batch."""
    here: float
    """Milliseconds of processor time an image in this process, where the training loop is."""
    held: int
    """The bytes that the run held at most, or wrote."""


def fed(ds: ps.Dataset) -> Seen:
    """Iterate over batches, as a training loop does."""
    with ds.batch(32).prefetch(2).iterate(memory=BUDGET, seed=1) as it:
        next(it)
        began, busy = time.perf_counter(), time.process_time()
        count = sum(len(batch["label"]) for batch in it)
        seconds, here = time.perf_counter() - began, time.process_time() - busy
        return Seen(count / seconds, 1e3 * here / count, it.report().peak)


def written(**how: Any) -> Seen:
    """Write 16 shards."""
    with tempfile.TemporaryDirectory() as folder:
        began, busy = time.perf_counter(), time.process_time()
        made = source().map(heavy).write_tfrecord(Path(folder) / "out", shards=16, **how)
        seconds, here = time.perf_counter() - began, time.process_time() - busy
        return Seen(made.elements / seconds, 1e3 * here / made.elements, made.bytes)


WORKS: dict[str, Callable[[], Seen]] = {
    "feed: one process": lambda: fed(source().map(heavy)),
    "feed: worker processes": lambda: fed(
        source().map(heavy, num_parallel_calls=CORES, executor="processes")
    ),
    "feed: Ray actors": lambda: fed(source().map(heavy).distribute(workers=CORES)),
    "write: one process": lambda: written(),
    "write: Ray tasks": lambda: written(engine="ray"),
}


def main() -> None:
    """Measure all of them, and print a table."""
    os.environ.setdefault("RAY_worker_niceness", "0")  # 15 by default: they would stand back for others
    import ray

    ray.init(
        "local",
        num_cpus=CORES,
        object_store_memory=200 << 20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    try:
        print(f"{CORES} cores, {IMAGES} images of {np.prod(SHAPE) >> 10} KiB, Ray {ray.__version__}")
        print(f"{'work':24}{'images/s':>10}{'ms here':>10}{'MiB':>8}")
        for name, work in WORKS.items():
            seen = max(work() for _ in range(ROUNDS))
            print(f"{name:24}{seen.rate:10.0f}{seen.here:10.2f}{seen.held / 2**20:8.1f}", flush=True)
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
