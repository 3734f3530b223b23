"""500x375 images resized to 224x224 by OpenCV, which lets go of Python's lock."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.declare import Expected, Peer, Work

ROWS = 640
HEIGHT, WIDTH, SIDE = 375, 500, 224
BATCH = 32


def images() -> Any:
    """The images that every peer starts from."""
    return np.random.default_rng(2).integers(0, 256, (ROWS, HEIGHT, WIDTH, 3)).astype(np.uint8)


def resize(image: Any) -> Any:
    """Resize one image, on one thread of OpenCV's: there are as many calls as cores."""
    import cv2

    cv2.setNumThreads(0)
    return cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_AREA)


def tally(batch: Any) -> tuple[float, ...]:
    """Count the images of one batch, and add up their pixels."""
    pixels = np.asarray(batch)
    if pixels.dtype != np.uint8 or pixels.shape[1:] != (SIDE, SIDE, 3):
        raise TypeError(f"Expected uint8 {SIDE}x{SIDE}x3, got {pixels.dtype} of {pixels.shape[1:]}.")
    return len(pixels), float(pixels.sum(dtype=np.int64))


def expected(rows: Any) -> tuple[Expected, ...]:
    """Say what the sums must be: they are exact."""
    return Expected(ROWS), Expected(float(sum(int(resize(row).sum(dtype=np.int64)) for row in rows)))


def penstock(rows: Any) -> Any:
    """Write it as a user would."""
    import penstock as ps

    ds = ps.Dataset.from_tensor_slices(rows)
    return ds.map(resize, num_parallel_calls=ps.AUTOTUNE).batch(BATCH).prefetch(ps.AUTOTUNE)


def tf_data(form: str) -> Callable[[Any], Any]:
    """Call OpenCV from tf.data: with one call at a time, or with parallel ones."""

    def build(rows: Any) -> Any:
        import tensorflow as tf

        def call(image: Any) -> Any:
            resized = tf.numpy_function(resize, [image], tf.uint8)
            return tf.ensure_shape(resized, (SIDE, SIDE, 3))

        auto = None if form == "naive" else tf.data.AUTOTUNE
        ds = tf.data.Dataset.from_tensor_slices(rows).map(call, num_parallel_calls=auto).batch(BATCH)
        return ds if auto is None else ds.prefetch(auto)

    return build


class Resized:
    """A map-style data set for the DataLoader."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: Any) -> Any:
        return resize(self._rows[index])


def torch(workers: int) -> Callable[[Any], Any]:
    """Leave it to the DataLoader, with workers that are kept."""

    def build(rows: Any) -> Any:
        from torch.utils.data import DataLoader

        resized: Any = Resized(rows)
        return DataLoader(resized, batch_size=BATCH, num_workers=workers, persistent_workers=workers > 0)

    return build


def grain(rows: Any) -> Any:
    """Read on threads."""
    import grain

    source: Any = Resized(rows)
    options = grain.ReadOptions(num_threads=2, prefetch_buffer_size=64)
    return grain.MapDataset.source(source).to_iter_dataset(options).batch(BATCH)


WORK = Work(
    name="opencv",
    title=f"{ROWS} images of 500x375 resized to 224x224 by OpenCV, `batch({BATCH})`",
    items=ROWS // BATCH,
    inputs=images,
    tally=tally,
    expected=expected,
    goal=1.2,
    against="the better of tf.data and DataLoader",
    repeat=3,
    peers=(
        Peer("penstock", "", penstock),
        Peer("tf.data", "naive", tf_data("naive")),
        Peer("tf.data", "best", tf_data("best"), "(parallel calls, prefetch)"),
        Peer("torch", "naive", torch(0)),
        Peer("torch", "best", torch(1), "(1 worker, kept)"),
        Peer("torch", "best", torch(2), "(2 workers, kept)"),
        Peer("grain", "best", grain, "(2 threads)"),
    ),
)
