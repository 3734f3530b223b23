"""Preprocessing once, ahead of training: TFRecord files are written, then shuffled, parsed and batched.

What is costly is done when the files are written. Training reads them back in a new order every epoch, with
an index beside each file and no shuffle buffer, and each worker takes its own part of the records.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from _memory import held

import penstock as ps

NUM_SHARDS = 4
FEATURES = {
    "feature0": ps.io.FixedLenFeature([8], np.float32),
    "feature1": ps.io.FixedLenFeature([], np.int64),
    "label": ps.io.FixedLenFeature([], np.int64),
}


def preprocess(number: Any) -> dict[str, Any]:
    """Make one example; here of its number alone."""
    wave = np.sin(number * np.arange(1, 9, dtype=np.float32))
    return {"feature0": wave, "feature1": number * 3, "label": number % 10}


def parse(record: Any) -> tuple[Any, Any]:
    """Turn a record into what the model takes."""
    example = ps.io.parse_single_example(record, FEATURES)
    return (example["feature0"], example["feature1"]), example["label"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        written = ps.Dataset.range(1_000).map(preprocess).write_tfrecord(folder, shards=NUM_SHARDS)
        print(f"written: {written.elements} examples in {len(written.shards)} files")

        seen = []
        for worker in range(2):
            dataset = (
                ps.TFRecordDataset(written.shards)
                .shuffle(seed=1)
                .shard(2, worker)
                .map(parse, num_parallel_calls=ps.AUTOTUNE)
                .batch(32)
                .prefetch(ps.AUTOTUNE)
            )
            with dataset.iterate(memory="32MiB") as it:
                numbers = np.concatenate([feature1 // 3 for (_, feature1), _ in it])
            print(f"worker {worker}: {len(numbers)} examples, the first are {numbers[:4]}, {held()}")
            seen.append(numbers)
        together = np.sort(np.concatenate(seen))
        print(f"together: each once: {np.array_equal(together, np.arange(1_000))}")
