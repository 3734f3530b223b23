"""20,000 raw 64x64x3 images in Examples to float32, shuffle(2000), batch(32)."""

from typing import Any

import numpy as np

from benchmarks.declare import Expected, Peer, Work
from benchmarks.speed import records
from benchmarks.speed.bare_pictures import Bare

BUFFER = 2000
BATCH = 32
COARSE = 256
SHAPE = (records.SIDE, records.SIDE, 3)


def files() -> list[str]:
    """The files that every peer reads."""
    return records.files("pictures")


def tally(batch: Any) -> tuple[float, ...]:
    """Count the images of one batch; add up their pixels."""
    pixels = np.asarray(batch)
    if pixels.dtype != np.float32 or pixels.shape[1:] != SHAPE:
        raise TypeError(f"Expected float32 images of {SHAPE}, got {pixels.dtype} of {pixels.shape[1:]}.")
    return len(pixels), float(pixels.sum(dtype=np.float64))


def expected(_: list[str]) -> tuple[Expected, ...]:
    """Say what the sums must be: even random bytes have this mean, and all images have been read."""
    mean = 127.5 * records.PICTURES * records.SIDE * records.SIDE * 3
    return Expected(records.PICTURES), Expected(mean, 1e-3)


def penstock(paths: list[str]) -> Any:
    """Write it as a user would."""
    import penstock as ps

    features = {"image": ps.io.FixedLenFeature([], "bytes")}

    def decode(record: Any) -> Any:
        raw = ps.io.parse_single_example(record, features)["image"]
        return ps.io.decode_raw(raw, np.uint8).reshape(SHAPE)

    rows = ps.Dataset.from_tensor_slices(paths).interleave(ps.TFRecordDataset, cycle_length=4)
    rows = rows.map(decode).shuffle(BUFFER).map(lambda pixels: pixels.astype(np.float32))
    return rows.batch(BATCH).prefetch(ps.AUTOTUNE)


def tf_pictures(form: str) -> Any:
    """Write it for tf.data: an image a call, a batch a call, or in coarse batches cut again."""

    def build(paths: list[str]) -> Any:
        import tensorflow as tf

        auto = tf.data.AUTOTUNE
        features = {"image": tf.io.FixedLenFeature([], tf.string)}

        def decode_one(record: Any) -> Any:
            raw = tf.io.parse_single_example(record, features)["image"]
            return tf.cast(tf.reshape(tf.io.decode_raw(raw, tf.uint8), SHAPE), tf.float32)

        def decode_many(batch: Any) -> Any:
            raw = tf.io.parse_example(batch, features)["image"]
            return tf.cast(tf.reshape(tf.io.decode_raw(raw, tf.uint8), (-1, *SHAPE)), tf.float32)

        names = tf.data.Dataset.from_tensor_slices(paths)
        calls = None if form == "naive" else auto
        rows = names.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=calls)
        if form == "naive":
            return rows.map(decode_one).shuffle(BUFFER).batch(BATCH).prefetch(auto)
        rows = rows.shuffle(BUFFER).batch(BATCH if form == "best" else COARSE)
        rows = rows.map(decode_many, num_parallel_calls=auto)
        return (rows if form == "best" else rows.rebatch(BATCH)).prefetch(auto)

    return build


WORK = Work(
    name="pictures",
    title="20,000 raw 64x64x3 images in Examples: `to float32, shuffle(2_000), batch(32), prefetch`",
    items=records.PICTURES // BATCH,
    inputs=files,
    tally=tally,
    expected=expected,
    goal=5,
    peers=(
        Peer("penstock", "", penstock),
        Peer("tf.data", "naive", tf_pictures("naive")),
        Peer("tf.data", "best", tf_pictures("best")),
        Peer("tf.data", "expert", tf_pictures("coarse"), "(coarse batches)"),
        Peer("no library", "", lambda paths: Bare(paths, SHAPE, BUFFER, BATCH), "(2 bare threads)"),
    ),
)
