"""A cache without a size, asked for something new every time."""

# kind: unbounded-cache
# line: 10
from functools import lru_cache

import numpy as np


@lru_cache(maxsize=None)  # <-
def features(number):
    return np.sin(np.arange(1500.0) * number)


total = 0.0
for number in range(60000):
    total += features(number)[3]
print(total)
