"""Keras, `fit` and validation with explicit sizes: a prefetch in bytes, and a cache that may be too big.

The cache is under the budget: what does not fit goes to a scratch file, so there is nothing to comment out
for large data. Runs on any backend: KERAS_BACKEND=torch, jax, tensorflow.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from _images import create_model, digits
from _memory import held

import penstock as ps


def efficient_augmentation(image: Any, label: Any) -> tuple[Any, Any]:
    """Only what changes from epoch to epoch; all else is done once, before the cache."""
    return ps.image.random_brightness(image, 0.1), label


if __name__ == "__main__":
    images, labels = digits()
    floats = ps.Dataset.from_tensor_slices((images, labels)).map(
        lambda image, label: (ps.image.convert_image_dtype(image, np.float32), label)
    )
    dataset = floats.take(1500).cache().shuffle(1500, seed=0).map(efficient_augmentation)
    dataset = dataset.batch(32).prefetch("64KiB").with_options(ps.Options(memory="1MiB"))
    validation = floats.skip(1500).batch(99)

    tell = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: print(
            f"epoch {epoch + 1:2}: accuracy on unseen digits {100 * logs['val_accuracy']:.1f} %, {held()}",
            flush=True,
        )
    )
    model = create_model()
    fed = dataset.as_keras()
    model.fit(fed, epochs=10, validation_data=validation.as_keras(), verbose=0, callbacks=[tell])
    guesses = model.predict(validation.as_keras(), verbose=0).argmax(axis=1)
    print(f"{np.sum(guesses == labels[1500:])} of {len(guesses)} unseen digits are right")
