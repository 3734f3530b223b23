"""Sharding: each of several workers reads its own part of the data, and none is read twice."""

from __future__ import annotations

import numpy as np
from _memory import held

import penstock as ps

NUM_SHARDS = 4
FEATURES = np.arange(1_000, dtype=np.float32).reshape(-1, 1)
LABELS = np.arange(1_000)


def shard(index: int) -> ps.Dataset:
    """What worker `index` trains on: every fourth element, shuffled and batched."""
    return (
        ps.Dataset.from_tensor_slices((FEATURES, LABELS))
        .shard(NUM_SHARDS, index)
        .shuffle(250, seed=index)
        .batch(32)
    )


if __name__ == "__main__":
    seen = []
    for index in range(NUM_SHARDS):
        labels = np.concatenate([y for _, y in shard(index)])
        print(f"worker {index}: {len(labels)} elements, the first are {labels[:4]}, {held()}")
        seen.append(labels)
    together = np.sort(np.concatenate(seen))
    print(f"together: {len(together)} elements, each once: {np.array_equal(together, LABELS)}")
