"""The files of the record works: made once a machine, by TensorFlow, in the temporary folder.

`python -m benchmarks.speed.records NAME FOLDER` makes them in a process of their own, so that the
peers' processes load nothing that they do not need.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLES = 400_000
FILES = 4
PICTURES = 20_000
SIDE = 64
PHOTOS = 640
HEIGHT, WIDTH = 375, 500


def files(name: str) -> list[str]:
    """The files of that name, made if they are not there yet."""
    folder = Path(tempfile.gettempdir()) / f"penstock-benchmarks-{name}-1"
    if not folder.exists():
        making = folder.with_suffix(".making")
        making.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "benchmarks.speed.records", name, str(making)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        making.rename(folder)
    return sorted(str(path) for path in folder.glob("[!.]*"))


def scalars(first: int, last: int) -> dict[str, np.ndarray[Any, Any]]:
    """The columns of the three-scalar Examples of these numbers."""
    number = np.arange(first, last)
    return {
        "label": number % 1000,
        "price": (number % 4096).astype(np.float32) / 64,
        "weight": (number % 77).astype(np.float32) - 38,
    }


def write_scalars(path: Path, first: int, last: int) -> None:
    """One file of three-scalar Examples."""
    import tensorflow as tf

    columns = {name: column.tolist() for name, column in scalars(first, last).items()}
    with tf.io.TFRecordWriter(str(path)) as writer:
        for label, price, weight in zip(*columns.values(), strict=True):
            writer.write(example({"label": label, "price": price, "weight": weight}))


def write_pictures(path: Path, first: int, last: int) -> None:
    """One file of raw images, 64x64x3, in Examples."""
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(path)) as writer:
        for number in range(first, last):
            pixels = np.random.default_rng(number).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
            writer.write(example({"image": pixels.tobytes(), "label": number}))


def write_photos(path: Path, first: int, last: int) -> None:
    """One file of JPEGs, 500x375, in Examples: smooth colours with some noise, as photographs have."""
    import tensorflow as tf

    down, across = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for number in range(first, last):
            random = np.random.default_rng(number)
            waves = [
                np.sin(down * a + across * b + c)
                for a, b, c in random.uniform(0.005, 0.05, (3, 3)).astype(np.float32)
            ]
            image = 128 + 90 * np.stack(waves, axis=-1) + random.normal(0, 6, (HEIGHT, WIDTH, 3))
            pixels = np.clip(image, 0, 255).astype(np.uint8)
            jpeg = tf.io.encode_jpeg(pixels, quality=90).numpy()
            writer.write(example({"image": jpeg, "label": number}))


def example(values: dict[str, Any]) -> bytes:
    """One serialised Example."""
    import tensorflow as tf

    features = {}
    for name, value in values.items():
        if isinstance(value, bytes):
            features[name] = tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
        elif isinstance(value, float):
            features[name] = tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
        else:
            features[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
    made: bytes = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
    return made


MAKERS: dict[str, tuple[Callable[[Path, int, int], None], int]] = {
    "examples": (write_scalars, EXAMPLES),
    "pictures": (write_pictures, PICTURES),
    "photos": (write_photos, PHOTOS),
}


def main(name: str, folder: str) -> None:
    """Make the files of that name."""
    write, count = MAKERS[name]
    each = count // FILES
    for number in range(FILES):
        path = Path(folder) / f"{name}-{number:05d}-of-{FILES:05d}.tfrecord"
        write(path, number * each, (number + 1) * each)


if __name__ == "__main__":
    main(*sys.argv[1:])
