"""How far work scales with cores: `python -m benchmarks.scaling [--cores 1,2,4]`.

Every count of cores is a process of its own that may use only so many. Pure Python goes to worker processes,
JPEG to threads where there are few cores and to processes where there are many, all chosen by Penstock.
Prints elements a second, how many times one core that is, and how many times one core as many separate
processes are that know nothing of one another, each on a core of its own: what the machine itself can do, as
its cores share their caches, their memory and sometimes their arithmetic.
"""

import argparse
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np

WARM = 4.0
"""Seconds at the beginning that do not count: kernels are loaded, workers start, what is tuned is tuned."""
SECONDS = 4.0
REPEATS = 2


def spin(x: Any) -> Any:
    """One millisecond of Python, whatever the machine."""
    until, turns = time.thread_time() + 0.001, 0
    while time.thread_time() < until:
        turns += 1
    return x + 0 * turns


def python(cores: int) -> Any:
    """Declare the pure-Python work."""
    import penstock as ps

    return ps.Dataset.range(1 << 40).map(spin, num_parallel_calls=ps.AUTOTUNE), 1600 * cores


def jpeg(cores: int) -> Any:
    """Declare the JPEG work: decode 500x375, random resized crop to 224, flip, to float32."""
    import simplejpeg

    import penstock as ps

    coarse = np.random.default_rng(0).integers(0, 256, (64, 24, 32, 3), dtype=np.uint8)
    fine = [np.repeat(np.repeat(each, 16, 0), 16, 1)[:375, :500] for each in coarse]
    photos = [simplejpeg.encode_jpeg(np.ascontiguousarray(each)) for each in fine] * 64

    def decode(photo: Any) -> Any:
        image = ps.image.random_resized_crop(photo, (224, 224))
        return ps.image.random_flip_left_right(image).astype(np.float32) / 255

    rows = ps.Dataset.from_tensor_slices(photos).repeat()
    return rows.map(decode, num_parallel_calls=ps.AUTOTUNE), 1500 * cores


WORKS = {"pure Python, 1 ms": python, "JPEG 500x375 to 224x224": jpeg}


def child(name: str) -> None:
    """Measure one work in this process; prints elements a second."""
    cores = len(os.sched_getaffinity(0))
    ds, most = WORKS[name](cores)
    with ds.iterate() as it:
        began = time.perf_counter()
        while time.perf_counter() - began < WARM:
            next(it)
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < SECONDS and count < 20 * most:
            next(it)
            count += 1
        print(count / (time.perf_counter() - began))


def main() -> None:
    """Run every work on every count of cores, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cores", default="", help="counts, as 1,2,4; all powers of two by default")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="works whose names contain this")
    args = parser.parse_args()
    if args.child:
        child(args.child)
        return
    usable = sorted(os.sched_getaffinity(0))
    counts = [int(count) for count in args.cores.split(",")] if args.cores else []
    counts = counts or [1 << power for power in range(len(usable).bit_length()) if 1 << power <= len(usable)]
    for name in WORKS:
        if args.only not in name:
            continue
        one = max(run(name, [usable[:1]]) for _ in range(REPEATS))
        for count in counts:
            rate = max(run(name, [usable[:count]]) for _ in range(REPEATS))
            apart = run(name, [[core] for core in usable[:count]])
            print(
                f"{name}: {count} cores: {rate:,.0f} elements/s, {rate / one:.1f} times one core; "
                f"{count} separate processes: {apart / one:.1f} times",
                flush=True,
            )


def run(name: str, groups: list[list[int]]) -> float:
    """Elements a second of as many processes as there are groups of cores, each on its own, all together."""
    command = [sys.executable, "-m", "benchmarks.scaling", "--child", name]
    started = [
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda cores=cores: os.sched_setaffinity(0, cores),
        )
        for cores in groups
    ]
    said = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise SystemExit(f"{name} failed on {len(groups)} groups of cores.")
    return sum(map(float, said))


if __name__ == "__main__":
    main()
