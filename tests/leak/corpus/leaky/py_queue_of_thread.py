"""A thread loads faster than the loop trains, and the queue between them has no bound."""

# kind: growing-container
# line: 21
import queue
import threading
import time

import numpy as np


class Loader(threading.Thread):
    def __init__(self, out):
        super().__init__(daemon=True)
        self.out = out
        self.over = threading.Event()

    def run(self):
        rng = np.random.default_rng(0)
        while not self.over.is_set():
            self.out.put(rng.normal(size=(64, 128)))  # <-
            time.sleep(0.0005)


def train(batches, steps):
    weights = np.zeros(128)
    for _ in range(steps):
        x = batches.get()
        for _ in range(400):
            off = x @ weights - x[:, 0]
            weights -= 1e-3 * x.T @ off / len(x)


def main():
    batches = queue.Queue()
    loader = Loader(batches)
    loader.start()
    train(batches, 1000)
    loader.over.set()


main()
