"""Parses tf.train.SequenceExamples of merged features: what plain Python says comes, or a `DataError`.

PYTHONPATH=src:tests python -m fuzz.sequence_example 200000
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from time import perf_counter
from typing import Any

import numpy as np

import penstock as ps
from contract.example_twin import KINDS, feature
from fuzz.example import field, merged, seldom
from fuzz.guarded import Canaries, Guarded
from penstock.blocks.columns import BytesColumn
from penstock.io.examples.found import BadRecord
from penstock.io.examples.readings import Frame
from penstock.io.examples.sequence import Lists


def plain(raw: bytes) -> tuple[str, list[Any]] | None:
    return feature(raw, 0, len(raw))


def flat_of(column: Any, dtype: str) -> tuple[list[Any], list[int]]:
    """The values of all steps, and where each begins."""
    item = column.item(0)
    values = item.values.view(np.uint32) if dtype == "float32" else item.values
    return values.tolist(), item.row_splits.tolist()


def fuzz(count: int, seed: int) -> Counter[str]:
    """Parse so many records; `AssertionError` where one is not what plain Python says."""
    bits = random.Random(seed)
    guarded, canaries = Guarded(), Canaries()
    kinds = {kind: Lists({"x": ps.io.VarLenFeature(name)}, "fuzz") for kind, name in KINDS.items()}
    seen: Counter[str] = Counter()
    for _ in range(count):
        kind = bits.choice([1, 2, 3])
        dtype = KINDS[kind]
        steps = [merged(bits, kind) for _ in range(bits.randrange(4))]
        raw_steps = b"".join(field(1, step) + seldom(bits) for step in steps)
        raw = field(2, field(1, field(1, b"x") + field(2, raw_steps)))
        expected = [plain(step) for step in steps]
        frame = Frame(1, None, canaries.empty)
        try:
            made, _ = kinds[kind].columns(
                BytesColumn(guarded.put(raw), np.array([0, len(raw)]), text=False), frame
            )
        except BadRecord:
            assert any(one is not None and one[0] != dtype for one in expected), raw
            seen["failed"] += 1
        else:
            assert all(one is None or one[0] == dtype for one in expected), raw
            values: list[Any] = []
            splits = [0]
            for one in expected:
                values += one[1] if one is not None else []
                splits.append(len(values))
            assert flat_of(made["x"], dtype) == (values, splits), raw
            seen["good"] += 1
        canaries.check()
    return seen


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("count", type=int, nargs="?", default=200_000)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    began = perf_counter()
    print(dict(fuzz(options.count, options.seed)), f"{perf_counter() - began:.0f} s")
