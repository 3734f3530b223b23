"""Digits in many TFRecord files, read and parsed in parallel, for a model of JAX.

Files are written once. An epoch reads several of them in turn, parses records a block at a time on all cores,
shuffles, batches, and has the next batch on the device before it is asked for.
"""

from __future__ import annotations

import tempfile
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from _memory import held
from sklearn.datasets import load_digits

import penstock as ps

FEATURES = {
    "image": ps.io.FixedLenFeature([], bytes),
    "label": ps.io.FixedLenFeature([], np.int64),
}


def parse(record: Any) -> tuple[Any, Any]:
    """Turn a record into what the model takes."""
    example = ps.io.parse_single_example(record, FEATURES)
    return ps.io.decode_raw(example["image"], np.uint8).astype(np.float32) / 16, example["label"]


def loss(weights: Any, x: Any, y: Any) -> Any:
    """The cross entropy of a linear model."""
    return -jnp.mean(jax.nn.log_softmax(x @ weights)[jnp.arange(len(y)), y])


if __name__ == "__main__":
    digits = load_digits()
    rows = {"image": [row.astype(np.uint8).tobytes() for row in digits.data], "label": digits.target}
    with tempfile.TemporaryDirectory() as folder:
        ps.Dataset.from_tensor_slices(rows).write_tfrecord(folder, shards=12)
        files = ps.Dataset.list_files(f"{folder}/*.tfrecord", seed=0)
        dataset = files.interleave(lambda path: ps.TFRecordDataset(path), cycle_length=10)
        dataset = dataset.map(parse, num_parallel_calls=ps.AUTOTUNE).shuffle(10_000, seed=0)
        dataset = dataset.batch(32, drop_remainder=True).prefetch(ps.AUTOTUNE)

        weights, slope = jnp.zeros((64, 10)), jax.jit(jax.grad(loss))
        for epoch in range(10):
            for x, y in dataset.as_jax():
                weights -= 0.5 * slope(weights, x, y)
            right = np.mean(np.argmax(digits.data / 16 @ weights, axis=1) == digits.target)
            print(f"epoch {epoch + 1:2}: {100 * right:.1f} % of digits are right, {held()}", flush=True)
