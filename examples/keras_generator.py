"""Keras, a generator and `steps_per_epoch`: the dataset goes on where the last epoch stopped.

A generator has no length and no end that Keras knows of, so `fit` is told how many steps an epoch has.
Runs on any backend: KERAS_BACKEND=torch, jax, tensorflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from _images import create_model, digits
from _memory import held

import penstock as ps

IMAGES, LABELS = digits()


def data_generator() -> Iterator[tuple[Any, Any]]:
    """Digits without end, one at a time, as if from a camera."""
    rng = np.random.default_rng(0)
    while True:
        number = rng.integers(len(LABELS))
        yield IMAGES[number].astype(np.float32) / 255, LABELS[number]


if __name__ == "__main__":
    signature = (ps.TensorSpec((8, 8, 1), np.float32), ps.TensorSpec((), np.int64))
    dataset = ps.Dataset.from_generator(data_generator, output_signature=signature)
    dataset = dataset.batch(32).prefetch(10)
    tell = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: print(
            f"epoch {epoch + 1:2}: accuracy {100 * logs['accuracy']:.1f} %, {held()}", flush=True
        )
    )
    fed = dataset.repeat().as_keras()
    create_model().fit(fed, epochs=10, steps_per_epoch=50, verbose=0, callbacks=[tell])
    print("500 steps over one stream that has no end")
