"""60,000 uint8 images to float32/255, shuffle(10000), batch(32), prefetch; with or without a flip.

The left half of every image is brighter than its right half, so the check pass can see from one
sum that the pixels arrived and from another that about half of the images were flipped.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.declare import Expected

ROWS = 60_000
BUFFER = 10_000
BATCH = 32
COARSE = 1024
SIDE = 28

Images = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]


def images() -> Images:
    """Make the images: NumPy, one channel, the same for every peer."""
    pixels = np.random.default_rng(7).integers(0, 128, (ROWS, SIDE, SIDE, 1), dtype=np.uint8)
    pixels[:, :, : SIDE // 2] += 128
    return pixels


def tally(batch: Any) -> tuple[float, ...]:
    """Count the images of one batch; add up their pixels, and those of the left half."""
    pixels = np.asarray(batch)
    if pixels.dtype != np.float32:
        raise TypeError(f"Expected float32 images, got {pixels.dtype}.")
    left = pixels[:, :, : SIDE // 2]
    return len(pixels), float(pixels.sum(dtype=np.float64)), float(left.sum(dtype=np.float64))


def sums(pixels: Images, flipped: bool) -> tuple[Expected, ...]:
    """Say what the sums must be: exact, but for rounding and the coin that decides a flip."""
    total = float(pixels.sum(dtype=np.int64)) / 255
    left = float(pixels[:, :, : SIDE // 2].sum(dtype=np.int64)) / 255
    half = Expected(total / 2, 0.01) if flipped else Expected(left, 1e-5)
    return Expected(ROWS), Expected(total, 1e-5), half


def tf_images(function: Callable[[Any], Any], form: str, parallel: bool = False) -> Callable[[Images], Any]:
    """Write the work for tf.data; `function` takes one image or a batch of them."""

    def build(pixels: Images) -> Any:
        import tensorflow as tf

        auto = tf.data.AUTOTUNE
        calls = auto if parallel else None
        rows = tf.data.Dataset.from_tensor_slices(pixels)
        if form == "naive":
            return rows.map(function).shuffle(BUFFER).batch(BATCH).prefetch(auto)
        if form == "best":
            batches = rows.shuffle(BUFFER).batch(BATCH)
            return batches.map(function, num_parallel_calls=calls).prefetch(auto)
        if form == "coarse":
            batches = rows.shuffle(BUFFER).batch(COARSE)
            return batches.map(function, num_parallel_calls=calls).rebatch(BATCH).prefetch(auto)
        store = tf.constant(pixels)
        numbers = tf.data.Dataset.range(ROWS).shuffle(BUFFER).batch(COARSE)
        gathered = numbers.map(lambda chosen: function(tf.gather(store, chosen)), num_parallel_calls=calls)
        return gathered.rebatch(BATCH).prefetch(auto)

    return build


def torch_images(function: Callable[[Any], Any], workers: int | None) -> Callable[[Images], Any]:
    """Write the work for the DataLoader; `workers=None` is the naive form, an image a call."""

    def build(pixels: Images) -> Any:
        import torch
        from torch.utils.data import DataLoader

        rows: Any = Rows(torch.from_numpy(pixels), function)
        batches: Any = Shuffled()
        if workers is None:
            return DataLoader(rows, batch_size=BATCH, shuffle=True)
        return DataLoader(
            rows,
            sampler=batches,
            batch_size=None,
            num_workers=workers,
            persistent_workers=workers > 0,
        )

    return build


class Rows:
    """A map-style data set for the DataLoader: one row, or an index array of them."""

    def __init__(self, pixels: Any, function: Callable[[Any], Any]) -> None:
        self._pixels = pixels
        self._function = function

    def __len__(self) -> int:
        return len(self._pixels)

    def __getitem__(self, index: Any) -> Any:
        return self._function(self._pixels[index])


class Shuffled:
    """A sampler whose items are whole batches of row numbers, in a new order a pass."""

    def __len__(self) -> int:
        return -(-ROWS // BATCH)

    def __iter__(self) -> Any:
        import torch

        return iter(torch.randperm(ROWS).split(BATCH))


def grain_images(function: Callable[[Any], Any], form: str) -> Callable[[Images], Any]:
    """Write the work for Grain; its shuffle is over all rows."""

    def build(pixels: Images) -> Any:
        import grain

        options = grain.ReadOptions(num_threads=2, prefetch_buffer_size=16)
        if form == "naive":
            rows = grain.MapDataset.source(pixels).seed(1).map(function).shuffle()
            return rows.batch(BATCH).to_iter_dataset()
        if form == "best":
            batches = grain.MapDataset.source(pixels).seed(1).shuffle().batch(BATCH)
            return batches.map(function).to_iter_dataset(options)
        numbers = grain.MapDataset.range(ROWS).seed(1).shuffle().batch(BATCH)
        gathered = numbers.map(lambda chosen: function(pixels[chosen]))
        return gathered.to_iter_dataset(options)

    return build
