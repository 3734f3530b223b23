"""`python -m benchmarks.words`: pipelines as tutorials of tf.data write them, and the same words of Penstock.

Nobody has made these quick by hand: this is what somebody gets who changes the import. All words of a library
run in one process, one after another, and the best of a few passes of each counts.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.tables import table

PASSES, SECONDS = 6, 3.0
HEAD = ["word for word", "penstock s", "tf.data s", "times"]
MODULES = {"penstock": "penstock", "tf.data": "tensorflow"}
Words = dict[str, Callable[[], Any]]


class Inputs:
    """What the pipelines read, the same in both processes."""

    def __init__(self) -> None:
        random = np.random.default_rng(1)
        self.images = random.integers(0, 256, (2000, 96, 128, 3), np.uint8)
        self.digits = random.integers(0, 256, (20_000, 28, 28), np.uint8)
        self.rows = random.random((100_000, 16), np.float32)
        self.labels = random.integers(0, 10, 100_000)
        self.lengths = random.integers(1, 60, 20_000)

    def sequences(self) -> Iterator[Any]:
        """Rows of several lengths."""
        for length in self.lengths:
            yield np.arange(length)


def words(inputs: Inputs, lib: Any, data: Any, auto: Any, own: Any) -> Words:
    """The pipelines, in the words that both libraries have; `own` has those in which they differ."""
    image, random, range_, cast, float32 = lib.image, lib.random, data.range, own.cast, own.float32
    digits = data.from_tensor_slices(inputs.digits)
    images = data.from_tensor_slices(inputs.images)
    rows = data.from_tensor_slices((inputs.rows, inputs.labels))
    one_leaf = lib.TensorSpec((None,), own.int64)

    def generated() -> Any:
        return data.from_generator(inputs.sequences, output_signature=one_leaf)

    def mapped(function: Any, of: Any = images) -> Any:
        return of.map(function, num_parallel_calls=auto).batch(32)

    def augmented(x: Any) -> Any:
        floats = image.random_flip_left_right(image.convert_image_dtype(x, float32))
        return image.random_contrast(image.random_brightness(floats, 0.2), 0.5, 1.5)

    return {
        "images: to float, / 255": lambda: mapped(lambda x: cast(x) / 255.0),
        "images: resize to 64x64": lambda: mapped(lambda x: image.resize(x, (64, 64))),
        "images: resize to 224x224": lambda: mapped(lambda x: image.resize(x, (224, 224)), images.take(500)),
        "images: batch, then resize": lambda: images.batch(32).map(lambda x: image.resize(x, (64, 64))),
        "images: resize with antialias": lambda: mapped(
            lambda x: image.resize(x, (64, 64), antialias=True), images.take(500)
        ),
        "images: random_crop": lambda: mapped(lambda x: image.random_crop(x, (64, 64, 3))),
        "images: random_flip_left_right": lambda: mapped(image.random_flip_left_right),
        "images: random_contrast": lambda: mapped(lambda x: image.random_contrast(cast(x), 0.5, 1.5)),
        "images: rot90": lambda: mapped(image.rot90),
        "images: shuffle, flip, brightness, contrast": lambda: mapped(augmented, images.shuffle(500)),
        "digits: shuffle, to float, batch": lambda: (
            data.from_tensor_slices(inputs.digits).shuffle(10_000).map(lambda x: cast(x) / 255.0).batch(128)
        ),
        "digits: to float, cache, shuffle, batch": lambda: (
            digits.map(lambda x: cast(x) / 255.0).cache().shuffle(10_000).batch(128)
        ),
        "rows: shuffle, batch": lambda: rows.shuffle(10_000).batch(128),
        "rows: minus their mean, by their spread": lambda: mapped(own.normalised, rows),
        "rows: plus noise": lambda: mapped(lambda x, y: (x + random.normal((16,)), y), rows),
        "rows: one of two branches": lambda: mapped(own.branching, rows),
        "rows: filter": lambda: rows.filter(lambda x, _: x[0] > 0.5).batch(128),
        "rows: zip, mix": lambda: data.zip(rows.shuffle(1000), rows.shuffle(1000)).map(
            lambda a, b: (a[0] * 0.3 + b[0] * 0.7, a[1])
        ),
        "rows: repeat, batch": lambda: rows.take(10_000).repeat(10).batch(100),
        "rows: batch, unbatch, batch": lambda: rows.batch(64).unbatch().batch(50),
        "windows of 10, batch each": lambda: (
            range_(10_000).window(10, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(10)).batch(64)
        ),
        "flat_map of small data sets": lambda: range_(2000).flat_map(lambda x: range_(x % 50)).batch(64),
        "interleave of 200 data sets": lambda: range_(200).interleave(lambda _: range_(500), 8, 4).batch(64),
        "choose by range(2).repeat()": lambda: data.choose_from_datasets(
            [range_(30_000), range_(30_000)], range_(2).repeat(30_000)
        ).batch(64),
        "sample of two": lambda: data.sample_from_datasets([range_(30_000)] * 2, [0.3, 0.7], seed=1).batch(
            64
        ),
        "group_by_window": lambda: range_(20_000).group_by_window(
            lambda x: x % 5, lambda _, group: group.batch(32), 32
        ),
        "scan": lambda: range_(20_000).scan(np.int64(0), lambda s, x: (s + x, s + x)).batch(128),
        "generator: padded_batch": lambda: generated().padded_batch(32),
        "generator: bucket_by_sequence_length": lambda: generated().bucket_by_sequence_length(
            own.length, [10, 20, 30, 40], [32] * 5
        ),
        "one by one": lambda: range_(50_000),
    }


class OfNumPy:
    """What Penstock's functions say in NumPy."""

    int64, float32 = np.int64, np.float32

    @staticmethod
    def cast(x: Any) -> Any:
        return x.astype(np.float32)

    @staticmethod
    def normalised(x: Any, y: Any) -> Any:
        return (x - x.mean()) / x.std(), y

    @staticmethod
    def branching(x: Any, y: Any) -> Any:
        return (x if y > 5 else -x), y

    @staticmethod
    def length(x: Any) -> int:
        return len(x)


def of_tensorflow() -> Any:
    """The same in TensorFlow's operations."""
    import tensorflow as tf

    class Own:
        int64, float32 = tf.int64, tf.float32

        @staticmethod
        def cast(x: Any) -> Any:
            return tf.cast(x, tf.float32)

        @staticmethod
        def normalised(x: Any, y: Any) -> Any:
            return (x - tf.reduce_mean(x)) / tf.math.reduce_std(x), y

        @staticmethod
        def branching(x: Any, y: Any) -> Any:
            return tf.cond(y > 5, lambda: x, lambda: -x), y

        @staticmethod
        def length(x: Any) -> Any:
            return tf.shape(x)[0]

    return Own


def child(peer: str) -> dict[str, list[float]]:
    """The seconds and the elements of each pipeline, in a process of its own."""
    inputs = Inputs()
    if peer == "penstock":
        import penstock as ps

        pipelines = words(inputs, ps, ps.Dataset, ps.AUTOTUNE, OfNumPy)
    else:
        import tensorflow as tf

        pipelines = words(inputs, tf, tf.data.Dataset, tf.data.AUTOTUNE, of_tensorflow())
    return {name: timed(build()) for name, build in pipelines.items()}


def timed(stream: Any) -> list[float]:
    """The best of a few passes, and how many elements one has."""
    best, began, count = float("inf"), perf_counter(), 0
    for _ in range(PASSES):
        start = perf_counter()
        count = sum(1 for _ in stream)
        best = min(best, perf_counter() - start)
        if perf_counter() - began > SECONDS:
            break
    return [best, count]


def measured() -> list[list[str]]:
    """A row a pipeline, those in which Penstock is ahead by most at the end."""
    seen: dict[str, dict[str, list[float]]] = {}
    for peer, module in MODULES.items():
        if find_spec(module) is None:
            return []
        command = [sys.executable, "-m", "benchmarks.words", peer]
        quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
        told = subprocess.run(command, stdout=subprocess.PIPE, env=quiet, text=True, check=True)
        seen[peer] = json.loads(told.stdout.splitlines()[-1])
    ours, theirs = seen["penstock"], seen["tf.data"]
    rows = []
    for name in sorted(ours, key=lambda name: theirs[name][0] / ours[name][0]):
        (mine, count), (other, same) = ours[name], theirs[name]
        if count != same:
            raise ValueError(f"Expected as many elements of {name!r} as tf.data has, {same}, got {count}.")
        rows.append(
            [
                name,
                f"{mine:.3f}",
                f"{other:.3f}",
                f"{other / mine:.1f}" if other < 10 * mine else f"{other / mine:.0f}",
            ]
        )
    return rows


def main() -> None:
    """Print the table, or what a child has seen."""
    if len(sys.argv) > 1:
        print(json.dumps(child(sys.argv[1])))
    else:
        print("\n".join(table(HEAD, measured())))


if __name__ == "__main__":
    main()
