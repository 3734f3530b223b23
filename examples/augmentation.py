"""Augmentation inside `map`: each image is changed anew every time it is seen.

The randomness is a function of the seed, the epoch and the element's number. So it is the same
however the work is divided, and another one in every epoch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _memory import held

import penstock as ps

IMAGES = np.random.default_rng(0).random((600, 16, 16, 3), dtype=np.float32)
LABELS = np.arange(600) % 10


def augment(image: Any, label: Any) -> tuple[Any, Any]:
    """Flip, move, and change the light."""
    image = ps.image.random_flip_left_right(image)
    image = ps.image.random_crop(image, (14, 14, 3))
    image = ps.image.random_brightness(image, 0.1)
    return image, label


dataset = (
    ps.Dataset.from_tensor_slices((IMAGES, LABELS))
    .map(augment, num_parallel_calls=ps.AUTOTUNE)
    .shuffle(buffer_size=10_000, seed=7)
    .batch(32)
    .prefetch(10)
)

if __name__ == "__main__":
    for run in ("first", "again"):
        for epoch in range(2):
            with dataset.iterate(seed=1, epoch=epoch) as it:
                means = [float(images.mean()) for images, _ in it]
            print(f"{run} run, epoch {epoch + 1}: first batch has a mean of {means[0]:.6f}, {held()}")
