"""The pipeline of `form1.json`, a state in the first form: it has to stay readable as it is.

It was written by `python tests/state/form1.py`, with the version of that time, and is not written again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps


def halves(x: Any) -> ps.Dataset:
    return ps.Dataset.range(4).map(lambda y: y + x * 10)


def large(x: Any) -> bool:
    return bool(x % 7)


def pipeline() -> ps.Dataset:
    numbers = ps.Dataset.range(40).shuffle(8).interleave(halves, cycle_length=3, block_length=2).filter(large)
    mixed = ps.Dataset.sample_from_datasets([numbers, ps.Dataset.range(1000, 1200)], [0.7, 0.3])
    kept = ps.Dataset.zip(mixed.shuffle(16), ps.Dataset.range(10_000)).map(lambda x, y: x * 2 + y % 2)
    return kept.enumerate().map(lambda i, x: np.stack([i, x])).batch(3).repeat(2).prefetch(2)


def write() -> None:
    from penstock.graph import track
    from state.pipelines import events

    track.SHARE = float("inf")
    with pipeline().iterate(seed=11, epoch=2) as it:
        events(it, 70)
        saved = {"state": it.state(), "rest": events(it, 10_000)}
    Path(__file__).with_suffix(".json").write_text(json.dumps(saved, indent=1) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    write()
