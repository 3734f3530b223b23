"""`repeat`: several epochs in one pass, without a loop over epochs."""

from __future__ import annotations

import numpy as np
from _memory import held
from _network import Network
from epoch_by_epoch import create_dataset

import penstock as ps


def train_model(dataset: ps.Dataset, epochs: int = 3) -> None:
    """One pass over all epochs."""
    model = Network(10, 2, hidden=32)
    losses = []
    with dataset.repeat(epochs).iterate() as it:
        for number, (x, y) in enumerate(it):
            losses.append(model.step(x, y, rate=0.1))
            if number % 5 == 0:
                print(f"Batch {number}: loss = {losses[-1]:.4f}")
    print(f"{len(losses)} batches, the last ten at a loss of {np.mean(losses[-10:]):.4f}, {held()}")


if __name__ == "__main__":
    train_model(create_dataset())
