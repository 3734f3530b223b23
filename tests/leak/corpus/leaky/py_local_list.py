"""A list that is local to the function that trains."""

# kind: growing-container
# line: 15
import numpy as np


def main():
    rng = np.random.default_rng(0)
    weights = np.zeros(2000)
    snapshots = []
    for step in range(15000):
        weights = weights + 0.01 * rng.standard_normal(2000)
        if step % 2 == 0:
            snapshots.append(weights.copy())  # <-
    print(len(snapshots))


if __name__ == "__main__":
    main()
