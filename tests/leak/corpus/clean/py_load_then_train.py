"""Data is loaded into a list first, and then trained on for longer."""

import numpy as np

rng = np.random.default_rng(0)
data = []
for shard in range(1500):
    data.append(np.sort(rng.random(5000)))

weights = np.zeros(5000)
for step in range(40000):
    weights += 0.001 * data[step % len(data)]
print(weights.sum())
