"""Images and a small model of Keras, for the examples of `fit`."""

from __future__ import annotations

import keras
import numpy as np
from sklearn.datasets import load_digits


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Handwritten digits, 8 by 8, as `uint8`, and what they are."""
    found = load_digits()
    return (found.images * 15).astype(np.uint8)[..., None], found.target


def create_model() -> keras.Model:
    """A small network for them."""
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
