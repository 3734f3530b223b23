"""A bounded cache of arrays that is not full for long."""

from functools import lru_cache
import numpy as np


@lru_cache(maxsize=60000)
def feats(i):
    return np.full(200, i)


rng = np.random.default_rng(0)
t = 0.0
for step in range(200000):
    t += feats(int(rng.integers(0, 100000))).sum()
