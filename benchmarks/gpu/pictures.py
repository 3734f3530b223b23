"""JPEGs of 500x375 as TFRecord files and as a folder of files, made once a machine."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

HEIGHT, WIDTH = 375, 500
CLASSES = 10
SHARDS = 16


def jpeg(number: int) -> bytes:
    """One picture: smooth colours with some noise, as photographs have."""
    import simplejpeg

    down, across = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    random = np.random.default_rng(number)
    waves = [np.sin(down * a + across * b + c) for a, b, c in random.uniform(0.005, 0.05, (3, 3))]
    image = 128 + 90 * np.stack(waves, axis=-1) + random.normal(0, 6, (HEIGHT, WIDTH, 3))
    return bytes(simplejpeg.encode_jpeg(np.clip(image, 0, 255).astype(np.uint8), quality=90))


def made(images: int) -> Path:
    """The folder with both forms: `records/*.tfrecord` and `files/CLASS/NUMBER.jpg`."""
    import penstock as ps

    folder = Path(tempfile.gettempdir()) / f"penstock-gpu-pictures-{images}"
    if (folder / "complete").exists():
        return folder
    for label in range(CLASSES):
        (folder / "files" / str(label)).mkdir(parents=True, exist_ok=True)

    def write(number: int) -> None:
        (folder / "files" / str(number % CLASSES) / f"{number:06}.jpg").write_bytes(jpeg(number))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(images)))

    def record(number: Any) -> dict[str, Any]:
        path = folder / "files" / str(number % CLASSES) / f"{number:06}.jpg"
        return {"image": path.read_bytes(), "label": number % CLASSES}

    rows = ps.Dataset.range(images).map(record)
    rows.write_tfrecord(folder / "records", shards=SHARDS, overwrite=True)
    (folder / "complete").touch()
    return folder
