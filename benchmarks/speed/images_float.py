"""60,000 uint8 28x28 images to float32/255, shuffle(10000), batch(32), prefetch."""

from typing import Any

import numpy as np

from benchmarks.declare import Expected, Peer, Work
from benchmarks.speed import images


def scaled(pixels: Any) -> Any:
    """Scale NumPy images, one or many."""
    return pixels.astype(np.float32) / 255


def penstock(pixels: images.Images) -> Any:
    """Write it as a user would."""
    import penstock as ps

    rows = ps.Dataset.from_tensor_slices(pixels).map(scaled)
    return rows.shuffle(images.BUFFER).batch(images.BATCH).prefetch(ps.AUTOTUNE)


def tf_scaled(pixels: Any) -> Any:
    """Scale TensorFlow images, one or many."""
    import tensorflow as tf

    return tf.cast(pixels, tf.float32) / 255.0


def torch_scaled(pixels: Any) -> Any:
    """Scale PyTorch images, one or many."""
    import torch

    return pixels.to(torch.float32) / 255


def expected(pixels: images.Images) -> tuple[Expected, ...]:
    """Say what the sums must be."""
    return images.sums(pixels, flipped=False)


WORK = Work(
    name="images_float",
    title="60,000 uint8 28x28 images: `map(float32 / 255).shuffle(10_000).batch(32).prefetch`",
    items=images.ROWS // images.BATCH,
    inputs=images.images,
    tally=images.tally,
    expected=expected,
    goal=10,
    peers=(
        Peer("penstock", "", penstock),
        Peer("tf.data", "naive", images.tf_images(tf_scaled, "naive")),
        Peer("tf.data", "best", images.tf_images(tf_scaled, "best", True)),
        Peer("tf.data", "expert", images.tf_images(tf_scaled, "coarse"), "(coarse batches)"),
        Peer("tf.data", "expert", images.tf_images(tf_scaled, "gather"), "(indices, gather)"),
        Peer("torch", "naive", images.torch_images(torch_scaled, None)),
        Peer("torch", "best", images.torch_images(torch_scaled, 0), "(index arrays)"),
        Peer("torch", "best", images.torch_images(torch_scaled, 2), "(index arrays, 2 workers)"),
        Peer("grain", "naive", images.grain_images(scaled, "naive")),
        Peer("grain", "best", images.grain_images(scaled, "best")),
        Peer("grain", "expert", images.grain_images(scaled, "gather"), "(indices, gather)"),
    ),
)
