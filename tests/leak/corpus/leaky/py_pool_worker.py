"""Workers of a pool keep what they have worked on."""

# kind: child-memory
# line: 13
from multiprocessing import Pool
import numpy as np

_seen = []


def work(seed):
    x = np.random.default_rng(seed).normal(size=20000)
    _seen.append(x)  # <-
    return float(x.mean())


def main():
    with Pool(2) as pool:
        best = -1.0
        for step in range(300):
            best = max(best, max(pool.map(work, range(step, step + 4))))
    print(best)


if __name__ == "__main__":
    main()
