"""Images in shuffled batches, for a training loop that knows nothing of where they come from."""

from __future__ import annotations

import numpy as np
from _memory import held
from _network import Network
from sklearn.datasets import load_digits

import penstock as ps

if __name__ == "__main__":
    x, y = load_digits(return_X_y=True)
    x_train, y_train = (x[:1500] / 16.0).astype(np.float32), y[:1500]
    x_test, y_test = (x[1500:] / 16.0).astype(np.float32), y[1500:]

    dataset = ps.Dataset.from_tensor_slices((x_train, y_train))
    dataset = dataset.shuffle(buffer_size=10_000, seed=0).batch(32)

    model = Network(64, 10)
    for epoch in range(10):
        losses = [model.step(x_batch, y_batch) for x_batch, y_batch in dataset]
        print(f"epoch {epoch + 1:2}: loss {np.mean(losses):.4f}, {held()}")
    print(f"test accuracy {100 * model.accuracy(x_test, y_test):.1f} %")
