"""An array that was made at once, and is filled bit by bit."""

import numpy as np


class Replay:
    def __init__(self, capacity, dim):
        self.obs = np.zeros((capacity, dim), np.float32)
        self.pos = 0
        self.full = False

    def add(self, o):
        self.obs[self.pos] = o
        self.pos += 1
        if self.pos == len(self.obs):
            self.pos, self.full = 0, True


def main():
    r = Replay(200_000, 128)
    rng = np.random.default_rng(0)
    for step in range(60_000):
        r.add(rng.normal(size=128))


if __name__ == "__main__":
    main()
