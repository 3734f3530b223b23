"""A list that is emptied at the end of each epoch."""

import numpy as np

rng = np.random.default_rng(0)
batches = []
for step in range(15000):
    batches.append(rng.random(2000))
    if len(batches) == 500:
        mean = np.mean([b.mean() for b in batches])
        batches.clear()
print(mean)
