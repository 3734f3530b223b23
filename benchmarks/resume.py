"""`python -m benchmarks.resume`: how large a state is, and how long it takes to go on from it elsewhere.

Every peer stops in the middle of a pass and writes its state to a folder. Another process declares the same
pipeline, goes on from there and gives the next batch, which has to be the one that the first process got.
The time runs from the declared pipeline to that batch; libraries and data are loaded before.
"""

import json
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.tables import table

IMAGES, SLOTS, BATCH = 60_000, 10_000, 32
NUMBERS = 1_000_000


@dataclass(frozen=True)
class Resumable:
    """An iteration, how its state gets to a folder, and how another one goes on from there."""

    elements: Iterator[Any]
    save: Callable[[Path], None]
    load: Callable[[Path], None]


def images() -> tuple[Any, Any]:
    """Pictures and labels, the same in every process."""
    pixels = np.random.default_rng(1).integers(0, 256, (IMAGES, 28, 28), np.uint8)
    return pixels, np.arange(IMAGES)


def _floats(x: Any, y: Any) -> Any:
    return x.astype(np.float32) / 255, y


def _wanted(x: Any) -> Any:
    return x % 10 != 0


def penstock(work: str) -> Resumable:
    """The pipeline as Penstock writes it."""
    import penstock as ps

    if work == "images":
        ds = (
            ps.Dataset.from_tensor_slices(images())
            .map(_floats)
            .shuffle(SLOTS, seed=1)
            .batch(BATCH)
            .prefetch(2)
        )
    else:
        ds = ps.Dataset.range(NUMBERS).filter(_wanted).shuffle(SLOTS, seed=1).batch(BATCH).prefetch(2)
    it = ds.iterate(epoch=0)

    def save(folder: Path) -> None:
        (folder / "state.json").write_text(json.dumps(it.state()))

    def load(folder: Path) -> None:
        it.load_state_dict((folder / "state.json").read_text())

    return Resumable(it, save, load)


def tf_data(work: str) -> Resumable:
    """The same in tf.data's words, with the checkpoint of its iterator."""
    import tensorflow as tf

    if work == "images":
        ds = tf.data.Dataset.from_tensor_slices(images())
        ds = ds.map(lambda x, y: (tf.cast(x, tf.float32) / 255, y))
    else:
        ds = tf.data.Dataset.range(NUMBERS).filter(lambda x: x % 10 != 0)
    it = iter(ds.shuffle(SLOTS, seed=1).batch(BATCH).prefetch(2))
    checkpoint = tf.train.Checkpoint(iterator=it)
    return Resumable(
        (tf.nest.map_structure(lambda leaf: leaf.numpy(), batch) for batch in it),
        lambda folder: checkpoint.write(str(folder / "state")),
        lambda folder: checkpoint.read(str(folder / "state")).assert_consumed(),
    )


def grain(work: str) -> Resumable:
    """The same with Grain: a shuffle of the whole where it has the rows, else of windows as large."""
    import grain
    from grain.experimental import WindowShuffleIterDataset

    if work == "images":
        pixels, labels = images()
        ds = grain.MapDataset.range(IMAGES).shuffle(seed=1).map(lambda i: _floats(pixels[i], labels[i]))
        ds = ds.to_iter_dataset().batch(BATCH)
    else:
        numbers = grain.MapDataset.range(NUMBERS).to_iter_dataset().filter(_wanted)
        ds = WindowShuffleIterDataset(numbers, window_size=SLOTS, seed=1).batch(BATCH)
    it = iter(ds)
    return Resumable(
        it,
        lambda folder: (folder / "state.json").write_text(json.dumps(it.get_state())) and None,
        lambda folder: it.set_state(json.loads((folder / "state.json").read_text())),
    )


HEAD = ["peer", "bytes", "s to save", "s to go on", "the same batch"]
PEERS = {"penstock": penstock, "tf.data": tf_data, "grain": grain}
MODULES = {"penstock": "penstock", "tf.data": "tensorflow", "grain": "grain"}
WORKS = {
    "images": (f"{IMAGES:,} images, map, shuffle({SLOTS}), batch({BATCH}); after 1,000 batches", 1000),
    "stream": (f"range({NUMBERS:,}), filter, shuffle({SLOTS}), batch({BATCH}); after 10,000 batches", 10_000),
}


def checksum(batch: Any) -> int:
    """What tells one batch from others."""
    leaves = batch if isinstance(batch, tuple | list) else [batch]
    return zlib.crc32(b"".join(np.ascontiguousarray(leaf).tobytes() for leaf in leaves))


def child(what: str, work: str, peer: str, folder: Path) -> dict[str, Any]:
    """Stop a pipeline in the middle, or go on from there; in a process of its own."""
    __import__(MODULES[peer])
    if what == "save":
        running = PEERS[peer](work)
        for _ in range(WORKS[work][1]):
            next(running.elements)
        began = perf_counter()
        running.save(folder)
        seconds = perf_counter() - began
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        return {"seconds": seconds, "size": size, "next": checksum(next(running.elements))}
    running = PEERS[peer](work)
    began = perf_counter()
    running.load(folder)
    batch = next(running.elements)
    return {"seconds": perf_counter() - began, "next": checksum(batch)}


def ask(what: str, work: str, peer: str, folder: str) -> dict[str, Any]:
    """Have a process of its own do it."""
    command = [sys.executable, "-m", "benchmarks.resume", what, work, peer, folder]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{peer} failed at {what} of {work}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def measured(work: str) -> list[list[str]]:
    """A row a peer: bytes, seconds to write them, seconds to go on, and whether the next batch was right."""
    rows = []
    for peer in PEERS:
        if find_spec(MODULES[peer]) is None:
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                saved = ask("save", work, peer, folder)
                tries = [ask("restore", work, peer, folder) for _ in range(2)]
        except RuntimeError as error:
            rows.append([peer, "-", "-", "-", str(error)])
            continue
        on = min(tries, key=lambda one: one["seconds"])
        right = "yes" if on["next"] == saved["next"] else "NO"
        rows.append([peer, f"{saved['size']:,}", f"{saved['seconds']:.4f}", f"{on['seconds']:.3f}", right])
    return rows


def main() -> None:
    """Print a table for every work."""
    if len(sys.argv) > 1:
        what, work, peer, folder = sys.argv[1:]
        print(json.dumps(child(what, work, peer, Path(folder))))
        return
    for work, (title, _) in WORKS.items():
        print(f"### {title}\n")
        print("\n".join(table(HEAD, measured(work))), end="\n\n")


if __name__ == "__main__":
    main()
