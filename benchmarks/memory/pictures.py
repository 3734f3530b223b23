"""6,000 float32 images of 224x224x3 made by a generator, in batches of 32, at 256 MiB."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.memory.pipeline import MIB, Array, Pipeline, Words, mark

ROWS = 6000
BUDGET = 256 * MIB
SHAPE = (224, 224, 3)
BATCH = 32


def rows() -> Iterator[Array]:
    """Make the images, one at a time."""
    for number in range(ROWS):
        yield np.full(SHAPE, mark(number), np.float32)


def batched(step: Callable[[Any], Any]) -> Callable[[Words], Any]:
    """Write the pipeline around one step."""

    def build(words: Words) -> Any:
        images = words.generated(rows, SHAPE, np.float32)
        return step(images).repeat(2).batch(BATCH).prefetch(words.autotune)

    return build


def plain(images: Any) -> Any:
    """Keep nothing."""
    return images


def shuffled(images: Any) -> Any:
    """Keep 2,000 images: 1.1 GiB."""
    return images.shuffle(2000)


def cached(images: Any) -> Any:
    """Keep all images: 3.4 GiB."""
    return images.cache()


TITLE = "6,000 images of 588 KiB, `batch(32)`, two epochs: "

PIPELINES = (
    Pipeline("images_plain", TITLE + "plain", BUDGET, ROWS, batched(plain), epochs=2),
    Pipeline("images_shuffle", TITLE + "`shuffle(2000)`", BUDGET, ROWS, batched(shuffled), 2),
    Pipeline("images_cache", TITLE + "`cache()`", BUDGET, ROWS, batched(cached), epochs=2),
)
