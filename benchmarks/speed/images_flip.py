"""60,000 uint8 28x28 images to float32/255 with a random left-right flip, shuffled, batched."""

from typing import Any

import numpy as np

from benchmarks.declare import Expected, Peer, Work
from benchmarks.speed import images
from benchmarks.speed.images_float import scaled, tf_scaled, torch_scaled


def penstock(pixels: images.Images) -> Any:
    """Write it as a user would."""
    import penstock as ps

    rows = ps.Dataset.from_tensor_slices(pixels)
    rows = rows.map(lambda image: ps.image.random_flip_left_right(scaled(image)))
    return rows.shuffle(images.BUFFER).batch(images.BATCH).prefetch(ps.AUTOTUNE)


def tf_flipped(pixels: Any) -> Any:
    """Flip TensorFlow images: a coin an image, also over a batch."""
    import tensorflow as tf

    return tf.image.random_flip_left_right(tf_scaled(pixels))


def torch_flipped(pixels: Any) -> Any:
    """Flip PyTorch images: a coin an image, also over a batch."""
    import torch

    scaled_pixels = torch_scaled(pixels)
    if pixels.ndim == 3:
        return scaled_pixels.flip(1) if torch.rand(()) < 0.5 else scaled_pixels
    chosen = torch.rand(len(pixels)) < 0.5
    scaled_pixels[chosen] = scaled_pixels[chosen].flip(2)
    return scaled_pixels


def numpy_flipped(pixels: Any) -> Any:
    """Flip NumPy images (for Grain): a coin an image, also over a batch."""
    if pixels.ndim == 3:
        return scaled(pixels[:, ::-1] if np.random.random() < 0.5 else pixels)
    chosen = np.random.random(len(pixels)) < 0.5
    result = scaled(pixels)
    result[chosen] = result[chosen][:, :, ::-1]
    return result


def expected(pixels: images.Images) -> tuple[Expected, ...]:
    """Say what the sums must be."""
    return images.sums(pixels, flipped=True)


WORK = Work(
    name="images_flip",
    title="the same with a random left-right flip",
    items=images.ROWS // images.BATCH,
    inputs=images.images,
    tally=images.tally,
    expected=expected,
    goal=10,
    peers=(
        Peer("penstock", "", penstock),
        Peer("tf.data", "naive", images.tf_images(tf_flipped, "naive")),
        Peer("tf.data", "best", images.tf_images(tf_flipped, "best", True)),
        Peer("tf.data", "expert", images.tf_images(tf_flipped, "coarse", True), "(coarse batches)"),
        Peer("tf.data", "expert", images.tf_images(tf_flipped, "gather", True), "(indices, gather)"),
        Peer("torch", "naive", images.torch_images(torch_flipped, None)),
        Peer("torch", "best", images.torch_images(torch_flipped, 0), "(index arrays)"),
        Peer("torch", "best", images.torch_images(torch_flipped, 2), "(index arrays, 2 workers)"),
        Peer("grain", "naive", images.grain_images(numpy_flipped, "naive")),
        Peer("grain", "best", images.grain_images(numpy_flipped, "best")),
        Peer("grain", "expert", images.grain_images(numpy_flipped, "gather"), "(indices, gather)"),
    ),
)
