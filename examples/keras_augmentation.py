"""Keras, `fit` over a pipeline that augments, with `prefetch(AUTOTUNE)` under a budget that holds.

Augmentation makes arrays, prefetch keeps them, and here neither can take more than the budget: it is the
most that an epoch holds, whatever AUTOTUNE chooses. Runs on any backend: KERAS_BACKEND=torch, jax,
tensorflow.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from _images import create_model, digits
from _memory import held

import penstock as ps


def complex_augmentation(image: Any, label: Any) -> tuple[Any, Any]:
    """Move it about, and change the light: another way every time it is seen."""
    image = np.pad(ps.image.convert_image_dtype(image, np.float32), ((1, 1), (1, 1), (0, 0)))
    image = ps.image.random_crop(image, (8, 8, 1))
    return ps.image.random_brightness(image, 0.1), label


if __name__ == "__main__":
    images, labels = digits()
    dataset = ps.Dataset.from_tensor_slices((images[:1500], labels[:1500])).shuffle(1500, seed=0)
    dataset = dataset.map(complex_augmentation, num_parallel_calls=ps.AUTOTUNE)
    dataset = dataset.batch(32)
    dataset = dataset.prefetch(ps.AUTOTUNE).with_options(ps.Options(memory="8MiB"))

    tell = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: print(
            f"epoch {epoch + 1:2}: accuracy {100 * logs['accuracy']:.1f} %, {held()}", flush=True
        )
    )
    print(f"Keras on {keras.backend.backend()}")
    create_model().fit(dataset.as_keras(), epochs=10, verbose=0, callbacks=[tell])
    with dataset.iterate() as run:
        batches = sum(1 for _ in run)
        print(f"an epoch of {batches} batches holds {run.report().peak / 2**20:.2f} MiB at most")
