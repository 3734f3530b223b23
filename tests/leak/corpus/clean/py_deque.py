"""The last few batches, in a deque with a length."""

from collections import deque

import numpy as np

recent = deque(maxlen=3000)
rng = np.random.default_rng(0)
for step in range(25000):
    recent.append(rng.random(500))
print(len(recent))
