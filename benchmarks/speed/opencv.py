"""500x375 images resized to 224x224 by OpenCV, which lets go of the lock: as by default, and by area."""

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
    """Resize one image as OpenCV does by itself (linear)."""
    import cv2

    cv2.setNumThreads(0)  # there are as many calls as cores
    return cv2.resize(image, (SIDE, SIDE))


def resize_by_area(image: Any) -> Any:
    """The same by the mean over an area, which takes far longer: the libraries differ the less."""
    import cv2

    cv2.setNumThreads(0)
    return cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_AREA)


Resize = Callable[[Any], Any]


def tally(batch: Any) -> tuple[float, ...]:
    """Count the images of one batch, and add up their pixels."""
    pixels = np.asarray(batch)
    if pixels.dtype != np.uint8 or pixels.shape[1:] != (SIDE, SIDE, 3):
        raise TypeError(f"Expected uint8 {SIDE}x{SIDE}x3, got {pixels.dtype} of {pixels.shape[1:]}.")
    return len(pixels), float(pixels.sum(dtype=np.int64))


def expected(resize: Resize) -> Callable[[Any], tuple[Expected, ...]]:
    """Say what the sums must be: they are exact."""

    def sums(rows: Any) -> tuple[Expected, ...]:
        return Expected(ROWS), Expected(float(sum(int(resize(row).sum(dtype=np.int64)) for row in rows)))

    return sums


def penstock(resize: Resize) -> Callable[[Any], Any]:
    """Write it as a user would."""

    def build(rows: Any) -> Any:
        import penstock as ps

        ds = ps.Dataset.from_tensor_slices(rows)
        return ds.map(resize, num_parallel_calls=ps.AUTOTUNE).batch(BATCH).prefetch(ps.AUTOTUNE)

    return build


def tf_data(resize: Resize, form: str) -> Callable[[Any], Any]:
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

    def __init__(self, rows: Any, resize: Resize) -> None:
        self._rows, self._resize = rows, resize

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: Any) -> Any:
        return self._resize(self._rows[index])


def torch(resize: Resize, workers: int) -> Callable[[Any], Any]:
    """Leave it to the DataLoader, with workers that are kept."""

    def build(rows: Any) -> Any:
        from torch.utils.data import DataLoader

        resized: Any = Resized(rows, resize)
        return DataLoader(resized, batch_size=BATCH, num_workers=workers, persistent_workers=workers > 0)

    return build


def grain(resize: Resize) -> Callable[[Any], Any]:
    """Read on threads."""

    def build(rows: Any) -> Any:
        import grain

        source: Any = Resized(rows, resize)
        options = grain.ReadOptions(num_threads=2, prefetch_buffer_size=64)
        return grain.MapDataset.source(source).to_iter_dataset(options).batch(BATCH)

    return build


def work(name: str, how: str, resize: Resize) -> Work:
    """One way to resize, and how each library is asked for it."""
    return Work(
        name=name,
        title=f"{ROWS} images of 500x375 resized to 224x224 by OpenCV{how}, `batch({BATCH})`",
        items=ROWS // BATCH,
        inputs=images,
        tally=tally,
        expected=expected(resize),
        goal=1.2,
        against="the better of tf.data and DataLoader",
        repeat=3,
        peers=(
            Peer("penstock", "", penstock(resize)),
            Peer("tf.data", "naive", tf_data(resize, "naive")),
            Peer("tf.data", "best", tf_data(resize, "best"), "(parallel calls, prefetch)"),
            Peer("torch", "naive", torch(resize, 0)),
            Peer("torch", "best", torch(resize, 1), "(1 worker, kept)"),
            Peer("torch", "best", torch(resize, 2), "(2 workers, kept)"),
            Peer("grain", "best", grain(resize), "(2 threads)"),
        ),
    )


WORKS = (work("opencv", "", resize), work("opencv_area", " (by area)", resize_by_area))
