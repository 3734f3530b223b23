"""Run in a process of its own: many pipelines, or growing elements, measured from outside of the ledger.

`python together.py NAME COUNT BUDGET` prints the peak of the RSS over idle in MiB, the peak of the
budget, and how many elements came, as JSON. `measure` does that from a test.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps

MIB = 1 << 20

SMALL, GROWING, LARGE = 1000, 200, 150


def status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    raise KeyError(name)


def picture(i: Any) -> Any:
    return np.full((64, 64, 3), int(i) % 251, np.float32)  # 48 KiB


def kinds(number: int) -> ps.Dataset:
    """One of four pipelines: with a shuffle, a cache, parallel calls, or nothing that keeps rows."""
    kind = number % 4
    ds = ps.Dataset.range(40).map(picture, num_parallel_calls=2 if kind == 2 else None)
    if kind == 0:
        ds = ds.shuffle(40)
    elif kind == 1:
        ds = ds.cache().repeat(2)
    return ds.batch(2).prefetch(ps.AUTOTUNE)


def hundred(count: int, budget: int) -> tuple[int, int]:
    """As many pipelines, an element of each in turn, with one budget for all."""
    shared = ps.Budget(budget)
    running = [kinds(number).iterate(memory=shared, seed=1) for number in range(count)]
    total = 0
    while running:
        for it in list(running):
            batch = next(it, None)
            if batch is None:
                running.remove(it)
            else:
                total += len(batch)
            del batch
    return total, shared.peak


def size(number: int) -> int:
    return int(1024 * 4096 ** min(max(number - SMALL, 0) / GROWING, 1.0))


def made(number: Any) -> Any:
    return np.full(size(int(number)), int(number) % 251, np.uint8)


def generated() -> Iterator[Any]:
    for number in range(SMALL + GROWING + LARGE):
        yield made(number)


def one_more(x: Any) -> Any:
    return x + np.uint8(1) if len(x) else x


def growing(ds: ps.Dataset, budget: int) -> tuple[int, int]:
    """A consumer of 1 ms an element that once stalls, when elements are large."""
    total = 0
    with ds.iterate(memory=budget) as it:
        for element in it:
            total += len(element) > 0
            if total > SMALL:
                time.sleep(0.5 if total == SMALL + GROWING + 50 else 0.001)
        return total, it.report().peak


def grown_map(_: int, budget: int) -> tuple[int, int]:
    numbers = ps.Dataset.range(SMALL + GROWING + LARGE)
    return growing(numbers.map(made, num_parallel_calls=ps.AUTOTUNE).prefetch(ps.AUTOTUNE), budget)


def grown_generator(_: int, budget: int) -> tuple[int, int]:
    ds = ps.Dataset.from_generator(generated, output_signature=ps.TensorSpec((None,), np.uint8))
    return growing(ds.map(one_more, num_parallel_calls=ps.AUTOTUNE).prefetch(ps.AUTOTUNE), budget)


def grown_interleave(_: int, budget: int) -> tuple[int, int]:
    def part(_: Any) -> ps.Dataset:
        return ps.Dataset.from_generator(generated, output_signature=ps.TensorSpec((None,), np.uint8))

    return growing(ps.Dataset.range(2).interleave(part, num_parallel_calls=2).prefetch(ps.AUTOTUNE), budget)


WORKS: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "hundred": hundred,
    "map": grown_map,
    "generator": grown_generator,
    "interleave": grown_interleave,
}


def main(name: str, count: int, budget: int) -> dict[str, float]:
    for number in range(4):  # whatever is loaded once is loaded now
        with kinds(number).iterate(memory=budget) as it:
            next(it)
    del it
    gc.collect()
    idle = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    total, peak = WORKS[name](count, budget)
    return {"peak": (status("VmHWM") - idle) / MIB, "budget": peak / MIB, "elements": total}


def measure(name: str, count: int, budget: int) -> dict[str, float]:
    """The figures of a work done in a process of its own."""
    words = [sys.executable, __file__, name, str(count), str(budget)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], *map(int, sys.argv[2:]))))
