"""A trainer that keeps what it saw, in an attribute."""

# kind: growing-container
# line: 18
import numpy as np


class Trainer:
    def __init__(self):
        self.rng = np.random.default_rng(1)
        self.seen = {}
        self.losses = []

    def step(self, i):
        batch = self.rng.random((32, 64))
        loss = float((batch**2).mean())
        self.losses.append(loss)
        self.seen[i] = batch  # <-
        return loss


trainer = Trainer()
for step in range(12000):
    loss = trainer.step(step)
print(loss)
