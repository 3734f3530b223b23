"""Digits in shuffled batches, and a model that knows nothing of where they come from (TensorFlow).

The graph is the model's alone. The data is read, shuffled and batched outside of it, and handed over a
batch at a time.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from _memory import held
from sklearn.datasets import load_digits

import penstock as ps

if __name__ == "__main__":
    x, y = load_digits(return_X_y=True)
    x = (x / 16.0).astype(np.float32)
    x_train, y_train, x_test, y_test = x[:1500], y[:1500], x[1500:], y[1500:]

    dataset = ps.Dataset.from_tensor_slices((x_train, y_train))
    dataset = dataset.shuffle(buffer_size=10_000, seed=0).batch(32)

    model = tf.keras.Sequential(
        [
            tf.keras.Input((64,)),
            tf.keras.layers.Dense(128, activation="relu"),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    optimizer = tf.keras.optimizers.Adam()

    @tf.function(reduce_retracing=True)
    def train_step(x_batch: tf.Tensor, y_batch: tf.Tensor) -> None:
        """One batch."""
        with tf.GradientTape() as tape:
            loss = tf.keras.losses.sparse_categorical_crossentropy(y_batch, model(x_batch))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    for epoch in range(10):
        for x_batch, y_batch in dataset.as_tensorflow():
            train_step(x_batch, y_batch)
        right = np.mean(model(x_test).numpy().argmax(axis=1) == y_test)
        print(f"epoch {epoch + 1:2}: {100 * right:.1f} % of unseen digits are right, {held()}", flush=True)
