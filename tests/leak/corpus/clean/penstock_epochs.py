"""A Penstock dataset, iterated over in many epochs."""

import numpy as np

import penstock as ps

ds = ps.Dataset.range(2000).map(lambda i: np.full(100, i, np.float32)).shuffle(500).batch(50).prefetch(2)
total = 0.0
for epoch in range(60):
    for batch in ds:
        total += float(batch.sum())
print(total)
