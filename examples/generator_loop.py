"""A generator over a dataset, fed to a loop that wants `steps_per_epoch`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from _memory import held
from _network import Network
from epoch_by_epoch import create_dataset

import penstock as ps


def data_generator(dataset: ps.Dataset) -> Iterator[tuple[Any, Any]]:
    """Batches without end, as loops that count their own steps want them."""
    yield from dataset.repeat()


def fit(model: Network, data: Iterator[tuple[Any, Any]], epochs: int, steps_per_epoch: int) -> None:
    """A loop that pulls so many batches an epoch."""
    for epoch in range(epochs):
        losses = [model.step(*next(data), rate=0.1) for _ in range(steps_per_epoch)]
        print(f"epoch {epoch + 1}: {steps_per_epoch} steps, loss {np.mean(losses):.4f}, {held()}")


if __name__ == "__main__":
    dataset = create_dataset(batch_size=32).prefetch(10)
    fit(Network(10, 2), data_generator(dataset), epochs=4, steps_per_epoch=len(dataset))
