"""Run in a process of its own: writes a data set, and is killed on the way, or runs into a limit.

`python interrupted.py FOLDER LAYOUT COMPRESSION WHEN`, where WHEN is `element:7` (when that element is made),
`before:3` or `after:3` (the third time that a file is published), or `limit:5000` (no file may be larger than
that; prints the error).
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps

N = 400
SETTINGS = {"element": -1}
"""Not a constant, for the pipeline to be the same one whenever it is killed."""


def rows() -> Iterator[dict[str, Any]]:
    for i in range(N):
        if i == SETTINGS["element"]:
            die()
        wide = np.arange(1 + (i > N // 4))  # what comes late does not tell of what came early
        yield {"x": i, "noise": np.random.default_rng(i).bytes(100), "wide": wide}


def pipeline() -> ps.Dataset:
    ds = ps.Dataset.from_generator(rows).shuffle(50)
    ds = ds.map(lambda e: {**e, "random": ps.random.uniform((2,))})
    return ds.apply(ps.assert_cardinality(N))


LAYOUTS: dict[str, dict[str, Any]] = {"shards": {"shards": 7}, "bytes": {"shard_bytes": 9000}}


def write(folder: str, layout: str, compression: str) -> Any:
    return pipeline().write_tfrecord(folder, compression=compression or None, **LAYOUTS[layout])


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_when_publishing(count: int, *, before: bool) -> None:
    """Die right before, or right after, a file gets its name for the `count`th time."""
    replace = Path.replace
    times = 0

    def replace_or_die(self: Path, target: Any) -> Any:
        nonlocal times
        times += 1
        if times == count and before:
            die()
        done = replace(self, target)
        if times == count:
            die()
        return done

    Path.replace = replace_or_die  # type: ignore[method-assign, assignment]


def main(folder: str, layout: str, compression: str, when: str) -> None:
    kind, _, number = when.partition(":")
    if kind == "element":
        SETTINGS["element"] = int(number)
    elif kind in ("before", "after"):
        die_when_publishing(int(number), before=kind == "before")
    elif kind == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(number), resource.RLIM_INFINITY))
    try:
        write(folder, layout, compression)
    except ps.errors.StoreError as error:
        print("StoreError", error.errno, error, *error.__notes__)


if __name__ == "__main__":
    main(*sys.argv[1:])
