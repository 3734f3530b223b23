"""500x375 JPEGs in Examples: random resized crop to 224, flip, normalise, batch(32)."""

from typing import Any

import numpy as np

from benchmarks.declare import Expected, Peer, Work
from benchmarks.speed import records

BATCH = 32
SIDE = 224


def files() -> list[str]:
    """The files that every peer reads."""
    return records.files("photos")


def tally(batch: Any) -> tuple[float, ...]:
    """Count the images of one batch."""
    pixels = np.asarray(batch)
    if pixels.dtype != np.float32 or pixels.shape[1:] != (SIDE, SIDE, 3):
        raise TypeError(f"Expected float32 224x224x3, got {pixels.dtype} of {pixels.shape[1:]}.")
    if not -2 < float(pixels.mean()) < 2:
        raise ValueError(f"Expected pixels around 0, got a mean of {pixels.mean()}.")
    return (float(len(pixels)),)


def expected(_: list[str]) -> tuple[Expected, ...]:
    """Say how many there must be."""
    return (Expected(records.PHOTOS),)


def penstock(paths: list[str]) -> Any:
    """Write it as a user would."""
    import penstock as ps

    features = {"image": ps.io.FixedLenFeature([], "bytes")}

    def prepare(record: Any) -> Any:
        jpeg = ps.io.parse_single_example(record, features)["image"]
        image = ps.image.random_resized_crop(jpeg, (SIDE, SIDE))
        image = ps.image.random_flip_left_right(image)
        return image.astype(np.float32) / np.float32(127.5) - np.float32(1)

    rows = ps.TFRecordDataset(paths).map(prepare, num_parallel_calls=ps.AUTOTUNE)
    return rows.batch(BATCH).prefetch(ps.AUTOTUNE)


def tf_photos(form: str) -> Any:
    """Write it for tf.data: decode whole and crop, or decode the crop only; in parallel or not."""

    def build(paths: list[str]) -> Any:
        import tensorflow as tf

        auto = tf.data.AUTOTUNE
        features = {"image": tf.io.FixedLenFeature([], tf.string)}
        whole = tf.constant([0, 0, 1, 1], tf.float32, [1, 1, 4])

        def prepare(record: Any) -> Any:
            jpeg = tf.io.parse_single_example(record, features)["image"]
            begin, size, _ = tf.image.sample_distorted_bounding_box(
                tf.io.extract_jpeg_shape(jpeg), whole, 0, 0.1, (3 / 4, 4 / 3), (0.08, 1.0), 10, True
            )
            if form == "naive":
                image = tf.slice(tf.io.decode_jpeg(jpeg, 3), begin, size)
            else:
                window = tf.stack([begin[0], begin[1], size[0], size[1]])
                image = tf.io.decode_and_crop_jpeg(jpeg, window, channels=3)
            image = tf.image.resize(image, (SIDE, SIDE))
            return tf.image.random_flip_left_right(image) / 127.5 - 1

        rows = tf.data.TFRecordDataset(paths)
        calls = None if form == "naive" else auto
        return rows.map(prepare, num_parallel_calls=calls).batch(BATCH).prefetch(auto)

    return build


WORK = Work(
    name="photos",
    title="640 JPEGs of 500x375 in Examples: `random resized crop to 224, flip, normalise, batch(32)`",
    items=records.PHOTOS // BATCH,
    inputs=files,
    tally=tally,
    expected=expected,
    goal=1.3,
    peers=(
        Peer("penstock", "", penstock),
        Peer("tf.data", "naive", tf_photos("naive")),
        Peer("tf.data", "best", tf_photos("best"), "(crop while decoding, parallel)"),
    ),
)
