"""A cache with a size, asked for something new every time."""

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=2000)
def features(number):
    return np.sin(np.arange(800.0) * number)


total = 0.0
for number in range(30000):
    total += features(number)[3]
print(total)
