"""TensorFlow, a compiled epoch: the loop over the batches is inside a `tf.function`.

`as_tensorflow()` gives a real `tf.data.Dataset`. It is made once; each call of the function is one more
pass over it, and the function is traced once.
"""

from __future__ import annotations

import tensorflow as tf
from _memory import held
from tensorflow_epochs import create_dataset, create_model

model = create_model()
optimizer = tf.keras.optimizers.Adam(0.01)
loss_fn = tf.keras.losses.BinaryCrossentropy()


def train_step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """One batch."""
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


@tf.function
def train_epoch(dataset: tf.data.Dataset) -> tf.Tensor:
    """One pass: the mean of the losses."""
    total, steps = tf.constant(0.0), tf.constant(0.0)
    for x, y in dataset:
        total += train_step(x, y)
        steps += 1.0
    return total / steps


if __name__ == "__main__":
    dataset = create_dataset().shuffle(1000, seed=0).prefetch(2).as_tensorflow()
    for epoch in range(8):
        print(f"epoch {epoch + 1}: loss {float(train_epoch(dataset)):.4f}, {held()}", flush=True)
    print(f"traced {train_epoch.experimental_get_tracing_count()} time")
