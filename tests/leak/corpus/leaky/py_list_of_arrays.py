"""Every batch is appended to a list of the module."""

# kind: growing-container
# line: 14
import numpy as np

rng = np.random.default_rng(0)
history = []


def work(i):
    x = rng.random(4000)
    y = np.sort(x)
    history.append(y)  # <-
    return float(y.sum())


total = 0.0
for step in range(12000):
    total += work(step)
print("total", total)
