"""Tables that are built up in the first third, then used."""

import numpy as np

tables = []
for step in range(9000):
    if step < 3000:
        tables.append(np.full(1000, step))
    total = sum(float(t[0]) for t in tables[:50])
    np.sort(np.random.rand(3000))
print(total)
