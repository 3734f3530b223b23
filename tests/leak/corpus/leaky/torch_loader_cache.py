"""A dataset that caches every sample that it is asked for, without an end."""

# kind: growing-container
# line: 15
import numpy as np
import torch


class Endless(torch.utils.data.IterableDataset):
    def __init__(self):
        self.cache = {}

    def __iter__(self):
        for i in range(20000):
            self.cache[i] = np.full(2000, i, dtype=np.float32)  # <-
            yield self.cache[i]


data = Endless()
total = 0.0
for batch in torch.utils.data.DataLoader(data, batch_size=8):
    total += float(batch[0, 0])
print(total)
