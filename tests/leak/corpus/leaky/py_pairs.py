"""Pairs, each of which has the one before: no container becomes longer."""

# kind: python-objects
# line: 15
import time

import numpy as np


def run():
    tape = ()
    x = np.ones(600)
    for step in range(2500):
        x = np.sin(x + step)
        tape = (tape, x)  # <-
        time.sleep(0.001)
    return x


print(run().sum())
