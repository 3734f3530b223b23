"""The usual order of a pipeline: map, cache, shuffle, batch, prefetch, under a budget of memory.

Here `cache()` needs no "only if it fits in memory": what does not fit the budget goes to a scratch
file, and the report says so.
"""

from __future__ import annotations

import numpy as np

import penstock as ps

FEATURES = np.random.default_rng(0).integers(0, 256, (2_000, 32, 32, 3), dtype=np.uint8)
LABELS = np.arange(2_000) % 10

dataset = ps.Dataset.from_tensor_slices((FEATURES, LABELS))
dataset = dataset.map(
    lambda x, y: (ps.image.convert_image_dtype(x, np.float32), y), num_parallel_calls=ps.AUTOTUNE
)
dataset = dataset.cache()
dataset = dataset.shuffle(buffer_size=10_000)
dataset = dataset.batch(32)
dataset = dataset.prefetch(ps.AUTOTUNE)

if __name__ == "__main__":
    for epoch in range(2):
        with dataset.iterate(memory="8MiB") as it:
            images = sum(len(labels) for _, labels in it)
            print(f"epoch {epoch + 1}: {images:,} images of {FEATURES[0].size * 4 >> 10} KiB")
            print(it.report(), end="\n\n")
