"""A queue that is filled faster than it is emptied."""

# kind: growing-container
# line: 15
import queue

import numpy as np

results = queue.Queue()
rng = np.random.default_rng(0)


def produce(step):
    for _ in range(2):
        results.put(rng.random(800))  # <-
    return results.get()


for step in range(15000):
    produce(step)
print(results.qsize())
