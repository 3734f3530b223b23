"""Batches of a Penstock dataset are kept."""

# kind: penstock-lent
# line: 14
import numpy as np

import penstock as ps

ds = ps.Dataset.range(60_000).map(lambda i: np.full(500, i, np.float32)).batch(16)
kept = []
for batch in ds:
    if len(kept) % 5 == 0:
        batch.sum()
    kept.append(batch)  # <-
print(len(kept))
