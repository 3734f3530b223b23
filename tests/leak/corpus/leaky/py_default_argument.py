"""The default of an argument is made once, and grows."""

# kind: growing-container
# line: 10
import numpy as np


def augment(image, cache=[]):  # noqa: B006
    flipped = np.ascontiguousarray(image[::-1])
    cache.append(flipped)  # <-
    return flipped.mean()


image = np.arange(6400.0).reshape(80, 80)
total = 0.0
for i in range(15000):
    total += augment(image + i)
print(total)
