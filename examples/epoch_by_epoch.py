"""A dataset is declared once; every epoch is one more pass over it.

There is no graph to delete: a dataset holds no data, and a pass gives everything back when it ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _memory import held
from _network import Network

import penstock as ps


def create_dataset(samples: int = 1000, batch_size: int = 32) -> ps.Dataset:
    """Random features, and labels that depend on them."""
    rng = np.random.default_rng(0)
    data = rng.random((samples, 10), dtype=np.float32)
    labels = (data.sum(axis=1) > 5).astype(np.int64)
    return ps.Dataset.from_tensor_slices((data, labels)).batch(batch_size)


def train_step(model: Network, x: Any, y: Any) -> float:
    """One batch."""
    return model.step(x, y, rate=0.1)


def train_model(dataset: ps.Dataset, epochs: int = 3) -> None:
    """A pass an epoch."""
    model = Network(10, 2, hidden=32)
    for epoch in range(epochs):
        print(f"Epoch {epoch + 1}: {held()}")
        for number, (x, y) in enumerate(dataset):
            loss = train_step(model, x, y)
            if number % 5 == 0:
                print(f"\tBatch {number}: loss = {loss:.4f}")


if __name__ == "__main__":
    train_model(create_dataset())
