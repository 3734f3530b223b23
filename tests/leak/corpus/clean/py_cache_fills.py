"""A cache of all samples that fills in the first epoch and then stays."""

import numpy as np

cache = {}


def load(number):
    if number not in cache:
        cache[number] = np.full(3000, number, dtype=float)
    return cache[number]


rng = np.random.default_rng(0)
total = 0.0
for step in range(60000):
    total += load(int(rng.integers(400))).sum()
print(total)
