"""Three numbers of each batch, in many short epochs."""

import numpy as np


class Log:
    def __init__(self):
        self.rows = []

    def add(self, **numbers):
        self.rows.append(numbers)


def batches(rng, count):
    for size in np.sort(rng.integers(10, 2000, count)):
        yield rng.normal(size=(int(size), 40))


def main():
    rng = np.random.default_rng(0)
    weights, log = np.zeros(40), Log()
    for epoch in range(15):
        for x in batches(rng, 100):
            for _ in range(40):
                off = x @ weights - x.sum(1)
                weights -= 1e-3 * x.T @ off / len(off)
            log.add(epoch=epoch, loss=float((off**2).mean()), norm=float(np.linalg.norm(weights)))


main()
