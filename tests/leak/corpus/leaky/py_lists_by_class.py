"""Rows by class, each class with a list of its own."""

# kind: growing-container
# line: 16
from collections import defaultdict

import numpy as np


class Bank:
    def __init__(self):
        self.by_class = defaultdict(list)

    def update(self, rows, labels):
        for row, label in zip(rows, labels):
            self.by_class[int(label)].append(row.copy())  # <-


def main():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(256, 64))
    bank = Bank()
    for _ in range(3000):
        rows = np.tanh(rng.normal(size=(32, 256)) @ weights)
        bank.update(rows, rng.integers(0, 10, 32))


if __name__ == "__main__":
    main()
