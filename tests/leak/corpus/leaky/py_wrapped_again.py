"""A method that is wrapped once more at every evaluation."""

# kind: python-objects
# line: 33
import functools
import time

import numpy as np


class Net:
    def __init__(self, rng):
        self.weights = rng.normal(size=(20, 4))

    def forward(self, x):
        return np.tanh(x @ self.weights)


def with_timing(forward):
    times = np.zeros(2000)

    @functools.wraps(forward)
    def timed(x):
        start = time.perf_counter()
        out = forward(x)
        times[0] = time.perf_counter() - start
        return out

    return timed


def evaluate(net, x):
    net.forward = with_timing(net.forward)  # <-
    return net.forward(x).mean()


def main():
    rng = np.random.default_rng(0)
    net = Net(rng)
    x = rng.normal(size=(8000, 20))
    for _ in range(400):
        for _ in range(10):
            net.weights -= 1e-3 * x.T @ net.forward(x)
        evaluate(net, x)


main()
