"""A bounded buffer that is not full when the script ends."""

from collections import deque
import numpy as np


class Replay:
    def __init__(self, n):
        self.buf = deque(maxlen=n)

    def push(self, *item):
        self.buf.append(item)


r = Replay(500000)
rng = np.random.default_rng(0)
for step in range(400000):
    r.push(rng.normal(size=16), step, 1.0)
