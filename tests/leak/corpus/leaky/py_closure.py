"""A closure that remembers all it was told."""

# kind: growing-container
# line: 12
import numpy as np


def make_logger():
    messages = []

    def log(step, vector):
        messages.append((step, vector.tolist()))  # <-
        return len(messages)

    return log


log = make_logger()
rng = np.random.default_rng(0)
step = 0
while step < 50000:
    log(step, rng.random(40))
    step += 1
print(step)
