"""No loop in the script: a function is called again and again."""

# kind: growing-container
# line: 14
import time
from functools import reduce

import numpy as np

path = []


def step(total, number):
    path.append(np.random.rand(2000))  # <-
    time.sleep(0.001)
    return total + number


print(reduce(step, range(1500)))
