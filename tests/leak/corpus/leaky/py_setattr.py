"""Gradients that are set as attributes of an object, one a step."""

# kind: growing-container
# line: 18
import numpy as np


class Run:
    pass


class Trainer:
    def __init__(self):
        self.run = Run()
        self.weights = np.zeros(200)

    def log(self, name, value):
        setattr(self.run, name, value)  # <-

    def fit(self, steps):
        rng = np.random.default_rng(0)
        for step in range(steps):
            rows = rng.normal(size=(200, 200))
            gradient = rows.T @ (rows @ self.weights - 1) / 200
            self.weights -= 0.01 * gradient
            self.log(f"gradient_{step}", gradient)


Trainer().fit(4000)
