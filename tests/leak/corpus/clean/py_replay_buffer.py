"""A buffer of examples that fills up and then replaces old ones at random."""

import numpy as np

rng = np.random.default_rng(0)
buffer = []
for step in range(30000):
    example = rng.random(300)
    if len(buffer) < 5000:
        buffer.append(example)
    else:
        buffer[int(rng.integers(5000))] = example
print(len(buffer))
