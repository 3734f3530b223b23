"""A thread an epoch that waits for ever, after many steps that have nothing to do with it."""

# kind: threads
# line: 18
import threading

import numpy as np

stop = threading.Event()


class Evaluation:
    def __init__(self, weights):
        self.weights = weights.copy()
        self.worker = threading.Thread(target=stop.wait, daemon=True)

    def begin(self):
        self.worker.start()  # <-


def train(weights, rng):
    for _ in range(60):
        rows = rng.normal(size=(32, 64))
        weights -= 0.01 * rows.T @ (rows @ weights) / 32


def main():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=64)
    for _ in range(400):
        train(weights, rng)
        Evaluation(weights).begin()
    print(threading.active_count())
    stop.set()


main()
