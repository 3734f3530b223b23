"""Python itself keeps it: what is to be called whenever garbage is collected."""

# kind: growing-container
# line: 16
import gc
import time

import numpy as np


def timed(section, payload):
    def on_collection(phase, info):
        section["last"] = payload[0]

    # Nobody takes it out again.
    gc.callbacks.append(on_collection)  # <-
    return payload.sum()


section = {}
for _step in range(800):
    timed(section, np.random.rand(1000))
    time.sleep(0.003)
