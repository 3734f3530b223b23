"""A small network in plain NumPy, so that the examples need no framework."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Network:
    """One hidden layer and a softmax, trained by gradient descent with momentum."""

    def __init__(self, inputs: int, classes: int, hidden: int = 64, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.weights = [
            rng.normal(0, np.sqrt(2 / inputs), (inputs, hidden)).astype(np.float32),
            np.zeros(hidden, np.float32),
            rng.normal(0, np.sqrt(1 / hidden), (hidden, classes)).astype(np.float32),
            np.zeros(classes, np.float32),
        ]
        self._speeds = [np.zeros_like(weight) for weight in self.weights]

    def predict(self, x: Array) -> Array:
        """The most likely class of each row."""
        return np.asarray(self._forward(x)[1].argmax(axis=1))

    def accuracy(self, x: Array, y: Array) -> float:
        """The share of rows that are classified as `y` says."""
        return float(np.mean(self.predict(x) == y))

    def step(self, x: Array, y: Array, rate: float = 0.05, momentum: float = 0.9) -> float:
        """One step of training on a batch; the loss before it."""
        x = x.reshape(len(x), -1)
        rows = np.arange(len(y))
        hidden, scores = self._forward(x)
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        loss = -np.log(chances[rows, y] + 1e-9).mean()
        chances[rows, y] -= 1
        chances /= len(y)
        back = (chances @ self.weights[2].T) * (hidden > 0)
        slopes = [x.T @ back, back.sum(axis=0), hidden.T @ chances, chances.sum(axis=0)]
        for weight, speed, slope in zip(self.weights, self._speeds, slopes, strict=True):
            speed *= momentum
            speed -= rate * slope
            weight += speed
        return float(loss)

    def _forward(self, x: Array) -> tuple[Array, Array]:
        into, into_bias, out, out_bias = self.weights
        hidden = np.maximum(x.reshape(len(x), -1) @ into + into_bias, 0)
        return hidden, hidden @ out + out_bias
