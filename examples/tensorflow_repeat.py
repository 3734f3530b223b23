"""TensorFlow, `repeat`: several epochs in one pass, without a loop over epochs."""

from __future__ import annotations

import tensorflow as tf
from _memory import held
from tensorflow_epochs import create_dataset
from tensorflow_function import train_step

step = tf.function(train_step)

if __name__ == "__main__":
    epochs = 8
    dataset = create_dataset().repeat(epochs).as_tensorflow()
    print(f"{epochs} epochs are {len(dataset)} batches")
    for number, (x, y) in enumerate(dataset):
        loss = step(x, y)
        if number % 32 == 0:
            print(f"batch {number:3}: loss {float(loss):.4f}, {held()}", flush=True)
