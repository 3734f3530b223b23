"""A pool of threads that is started once."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np


def work(seed):
    return float(np.random.default_rng(seed).random(20_000).sum())


total = 0.0
with ThreadPoolExecutor(4) as pool:
    for step in range(1200):
        total += sum(pool.map(work, range(step, step + 4)))
print(total)
