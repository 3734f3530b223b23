"""TensorFlow, a training loop of one's own: a pass over the dataset an epoch, and no graph to delete.

The dataset is declared once. A pass ends with its `for`, and leaves nothing behind.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from _memory import held

import penstock as ps


def create_dataset(samples: int = 1000, batch_size: int = 32) -> ps.Dataset:
    """Random features, and labels that depend on them."""
    data = np.random.default_rng(0).random((samples, 10), dtype=np.float32)
    labels = (data.sum(axis=1, keepdims=True) > 5).astype(np.float32)
    return ps.Dataset.from_tensor_slices((data, labels)).batch(batch_size)


def create_model() -> tf.keras.Model:
    """Two small layers."""
    return tf.keras.Sequential(
        [
            tf.keras.Input((10,)),
            tf.keras.layers.Dense(32, activation="relu"),
            tf.keras.layers.Dense(1, activation="sigmoid"),
        ]
    )


def train_model(dataset: ps.Dataset, epochs: int = 4) -> None:
    """A pass an epoch, a step a batch."""
    model = create_model()
    optimizer = tf.keras.optimizers.Adam(0.01)
    loss_fn = tf.keras.losses.BinaryCrossentropy()
    for epoch in range(epochs):
        losses = []
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x))
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
            losses.append(float(loss))
        print(f"epoch {epoch + 1}: {len(losses)} batches, loss {np.mean(losses):.4f}, {held()}", flush=True)


if __name__ == "__main__":
    train_model(create_dataset())
