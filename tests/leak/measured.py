"""Run in a process of its own: a pipeline under a budget, measured from outside of the ledger.

`python measured.py NAME COUNT BUDGET EPOCHS` prints the RSS in MiB when idle, at its peak and after
the run was closed, and the ledger's peak, as JSON. `measure` does that from a test.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps

MIB = 1 << 20


def megabyte(i: Any) -> Any:
    return np.full(MIB, i, np.uint8)


def image(i: Any) -> Any:
    return np.full((224, 224, 3), i, np.float32)


def images(count: int) -> Any:
    for i in range(count):
        yield np.full((224, 224, 3), i, np.float32)


def record(i: Any) -> Any:
    return {"bytes": bytes(20_000 + int(i) % 77 * 1000), "number": i}


def large_arrays(count: int) -> Any:
    for i in range(count):
        yield np.full(27 * MIB, i, np.uint8)


def several_steps(i: Any) -> Any:
    return np.sqrt(np.sin(np.zeros(250_000, np.float32) + i) ** 2 + 1)


def made_in_the_run(i: Any) -> ps.Dataset:
    return ps.Dataset.from_tensor_slices(np.full((64, 1 << 16), i, np.uint8))


def from_generator(count: int) -> ps.Dataset:
    return ps.Dataset.from_generator(images, args=(count,))


PIPELINES = {
    "plain": lambda count: from_generator(count),
    "shuffle megabytes": lambda count: ps.Dataset.range(count).map(megabyte).shuffle(400),
    "cache megabytes": lambda count: ps.Dataset.range(count).map(megabyte).cache(),
    "shuffle images": lambda count: from_generator(count).shuffle(2000),
    "cache images": lambda count: from_generator(count).cache(),
    "shuffle and batch images": lambda count: from_generator(count).shuffle(500).batch(16),
    "cache and shuffle images": lambda count: from_generator(count).cache().shuffle(300),
    "shuffle records": lambda count: ps.Dataset.range(count).map(record).shuffle(3000),
    "shuffle batches of bytes": lambda count: (
        ps.Dataset.range(count).map(lambda i: bytes([i % 256]) * (128 << 10)).batch(32).shuffle(20)
    ),
    "large arrays": lambda count: ps.Dataset.from_generator(large_arrays, args=(count,)).map(lambda x: x + 1),
    "parallel map": lambda count: ps.Dataset.range(count).map(several_steps, num_parallel_calls=16),
    "interleave made": lambda count: ps.Dataset.range(count).interleave(made_in_the_run, cycle_length=8),
    "prefetch after shuffle": lambda count: from_generator(count).shuffle(500).batch(8).prefetch(8),
}


def status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    raise KeyError(name)


def main(name: str, count: int, budget: int, epochs: int) -> dict[str, float]:
    with PIPELINES[name](3).iterate(memory=budget) as it:  # whatever is loaded once is loaded now
        next(it)
    del it
    gc.collect()
    ds = PIPELINES[name](count)
    idle = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    ledger = 0
    for _ in range(epochs):
        with ds.iterate(memory=budget) as it:
            total = sum(1 for _ in it)
            ledger = max(ledger, it._run.ledger.peak)
        assert total >= 1, total
    after, peak = status("VmRSS"), status("VmHWM")
    return {
        "idle": idle / MIB,
        "peak": (peak - idle) / MIB,
        "after": (after - idle) / MIB,
        "ledger": ledger / MIB,
    }


def measure(name: str, count: int, budget: int, epochs: int) -> dict[str, float]:
    """The figures of a pipeline run in a process of its own."""
    words = [sys.executable, __file__, name, *map(str, (count, budget, epochs))]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], *map(int, sys.argv[2:]))))
