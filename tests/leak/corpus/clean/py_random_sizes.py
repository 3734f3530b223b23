"""Batches of very different sizes."""

import numpy as np

rng = np.random.default_rng(0)
total = 0.0
for step in range(8000):
    size = int(rng.integers(1000, 200_000))
    batch = np.zeros(size)
    batch[::100] = step
    total += batch.sum()
print(total)
