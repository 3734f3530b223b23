"""400,000 three-scalar Examples in 4 files: interleave, parse, shuffle(10000), batch(32) or (1024)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.declare import Expected, Peer, Work
from benchmarks.speed import records

BUFFER = 10_000
COARSE = 1024
NAMES = ("label", "price", "weight")


def files() -> list[str]:
    """The files that every peer reads."""
    return records.files("examples")


def tally(batch: Any) -> tuple[float, ...]:
    """Count the Examples of one batch; add up two of their features."""
    label, price = (np.asarray(batch[name]) for name in NAMES[:2])
    return len(label), float(label.sum()), float(price.sum(dtype=np.float64))


def expected(_: list[str]) -> tuple[Expected, ...]:
    """Say what the sums must be."""
    columns = records.scalars(0, records.EXAMPLES)
    price = float(columns["price"].sum(dtype=np.float64))
    return Expected(records.EXAMPLES), Expected(float(columns["label"].sum())), Expected(price, 1e-9)


def penstock(size: int) -> Callable[[list[str]], Any]:
    """Write it as a user would."""

    def build(paths: list[str]) -> Any:
        import penstock as ps

        features = {
            "label": ps.io.FixedLenFeature([], np.int64),
            "price": ps.io.FixedLenFeature([], np.float32),
            "weight": ps.io.FixedLenFeature([], np.float32),
        }
        rows = ps.Dataset.from_tensor_slices(paths).interleave(ps.TFRecordDataset, cycle_length=4)
        rows = rows.map(lambda record: ps.io.parse_single_example(record, features))
        return rows.shuffle(BUFFER).batch(size).prefetch(ps.AUTOTUNE)

    return build


def tf_examples(form: str, size: int) -> Callable[[list[str]], Any]:
    """Write it for tf.data: an Example a call, a batch a call, or in coarse batches cut again."""

    def build(paths: list[str]) -> Any:
        import tensorflow as tf

        auto = tf.data.AUTOTUNE
        features = {
            "label": tf.io.FixedLenFeature([], tf.int64),
            "price": tf.io.FixedLenFeature([], tf.float32),
            "weight": tf.io.FixedLenFeature([], tf.float32),
        }
        names = tf.data.Dataset.from_tensor_slices(paths)
        calls = None if form == "naive" else auto
        rows = names.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=calls)
        if form == "naive":
            rows = rows.map(lambda record: tf.io.parse_single_example(record, features))
            return rows.shuffle(BUFFER).batch(size).prefetch(auto)
        rows = rows.shuffle(BUFFER).batch(size if form == "best" else COARSE)
        rows = rows.map(lambda batch: tf.io.parse_example(batch, features), num_parallel_calls=auto)
        return (rows if form == "best" else rows.rebatch(size)).prefetch(auto)

    return build


def work(size: int) -> Work:
    """The work with batches of that size."""
    peers = [
        Peer("penstock", "", penstock(size)),
        Peer("tf.data", "naive", tf_examples("naive", size)),
        Peer("tf.data", "best", tf_examples("best", size)),
    ]
    if size < COARSE:
        peers.append(Peer("tf.data", "expert", tf_examples("coarse", size), "(coarse batches)"))
    return Work(
        name=f"examples_{size}",
        title="400,000 three-scalar Examples, 4 files: "
        f"`interleave, parse, shuffle(10_000), batch({size}), prefetch`",
        items=-(-records.EXAMPLES // size),
        inputs=files,
        tally=tally,
        expected=expected,
        goal=10,
        peers=tuple(peers),
    )


SMALL = work(32)
LARGE = work(1024)
