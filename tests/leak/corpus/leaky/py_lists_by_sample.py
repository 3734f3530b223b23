"""The losses of each of many samples, over all epochs."""

# kind: growing-container
# line: 16
from collections import defaultdict

import numpy as np


class Chart:
    def __init__(self):
        self.by_sample = defaultdict(list)

    def record(self, ids, losses, epoch):
        for i, loss in zip(ids, losses):
            self.by_sample[int(i)].append((epoch, float(loss)))  # <-


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 30))
    y = x.sum(1)
    weights = np.zeros(30)
    chart = Chart()
    for epoch in range(120):
        order = rng.permutation(len(x))
        for start in range(0, len(x), 50):
            ids = order[start : start + 50]
            error = x[ids] @ weights - y[ids]
            weights -= 0.02 * x[ids].T @ error / len(ids)
            chart.record(ids, error**2, epoch)
            np.linalg.svd(x[ids])


main()
