"""Run in a process of its own: saves a dataset, and is killed on the way, or runs into a limit.

`python saving.py FOLDER WHEN`, where WHEN is `element:7` (when that element is made), `before:3` or `after:3`
(the third time that a file is published), or `limit:5000` (no file may be larger than that; prints the
error).
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import penstock as ps
from writing.interrupted import die, die_when_publishing

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
    return ds.map(lambda e: {**e, "random": ps.random.uniform((2,))})


def save(folder: str) -> Any:
    return pipeline().save(folder, shard_bytes=9000, memory="8MiB")


def main(folder: str, when: str) -> None:
    kind, _, number = when.partition(":")
    if kind == "element":
        SETTINGS["element"] = int(number)
    elif kind in ("before", "after"):
        die_when_publishing(int(number), before=kind == "before")
    elif kind == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(number), resource.RLIM_INFINITY))
    try:
        save(folder)
    except ps.errors.StoreError as error:
        print("StoreError", error.errno, error, *error.__notes__)


if __name__ == "__main__":
    main(*sys.argv[1:])
