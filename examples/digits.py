"""Train on real handwritten digits under a memory budget, and show what each op held.

Writes scikit-learn's digits as .npy files, reads them through a pipeline of Penstock, trains a
small network in plain NumPy on them, and prints the accuracy reached and the last epoch's report.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from _network import Network

import penstock as ps

PIXELS = 8
MARGIN = 1


def main() -> None:
    """Do what the command line asks for."""
    options = parse_arguments()
    if options.data is not None:
        train(options, options.data)
        return
    with tempfile.TemporaryDirectory(prefix="penstock-digits-") as folder:
        train(options, Path(folder))


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=20, help="passes over the data (20)")
    parser.add_argument("--memory", default="1MiB", help="the budget of the pipeline (1MiB)")
    parser.add_argument("--seed", type=int, default=1, help="for all that is random (1)")
    parser.add_argument("--data", type=Path, help="keep the files in this folder")
    return parser.parse_args()


def write_digits(folder: Path, seed: int) -> None:
    """Write the digits as .npy files, four fifths of them to train on."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    cut = len(order) * 4 // 5
    folder.mkdir(parents=True, exist_ok=True)
    for part, rows in (("train", order[:cut]), ("test", order[cut:])):
        np.save(folder / f"{part}-images.npy", digits.images[rows].astype(np.uint8))
        np.save(folder / f"{part}-labels.npy", digits.target[rows].astype(np.int64))


def read(folder: Path, part: str) -> tuple[Any, Any]:
    """The images and labels of one part, mapped from their files rather than read."""
    images = np.load(folder / f"{part}-images.npy", mmap_mode="r")
    labels = np.load(folder / f"{part}-labels.npy", mmap_mode="r")
    return images, labels


def to_float(image: Any, label: Any) -> tuple[Any, Any]:
    """Pixels from 0 to 1, with an empty margin on either side to move within."""
    grey = image.astype(np.float32) / 16
    return np.pad(grey, ((0, 0), (MARGIN, MARGIN)))[..., None], label


def moved(image: Any, label: Any) -> tuple[Any, Any]:
    """The digit moved aside by up to a pixel, another way every time it is seen."""
    return ps.image.random_crop(image, (PIXELS, PIXELS, 1)), label


def pipeline(folder: Path, seed: int) -> ps.Dataset:
    """The training data: made once, cached, shuffled and moved anew in every epoch."""
    images, labels = read(folder, "train")
    return (
        ps.Dataset.from_tensor_slices((images, labels))
        .map(to_float)
        .cache()
        .shuffle(len(images), seed=seed)
        .map(moved)
        .batch(32)
        .prefetch(ps.AUTOTUNE)
    )


def train(options: argparse.Namespace, folder: Path) -> None:
    """Train, and say how it went."""
    began = perf_counter()
    write_digits(folder, options.seed)
    ds = pipeline(folder, options.seed).with_options(ps.Options(memory=options.memory))
    images, labels = read(folder, "test")
    trained = len(read(folder, "train")[1])
    print(f"{trained:,} digits to train on and {len(labels)} to test on, in {folder}")
    print(f"memory budget {options.memory}\n")

    network = Network(PIXELS * PIXELS, 10, hidden=128, seed=options.seed)
    tested = images.astype(np.float32) / 16
    most_held = 0
    for epoch in range(options.epochs):
        started = perf_counter()
        rate = 0.05 * (1 + np.cos(np.pi * epoch / options.epochs))
        losses = []
        with ds.iterate(seed=options.seed) as it:
            for x, y in it:
                losses.append(network.step(x, y, rate=rate))
                show_progress(epoch, len(losses), len(ds))
            report = it.report()
        most_held = max(most_held, report.peak)
        print(
            f"epoch {epoch + 1:2}   loss {np.mean(losses):.4f}   "
            f"test accuracy {100 * network.accuracy(tested, labels):5.1f} %   "
            f"{perf_counter() - started:.2f} s"
        )

    print(f"\nWhat each op held in the last epoch:\n\n{report}\n")
    print(f"most held      {most_held / 2**20:.2f} MiB of {report.budget / 2**20:.2f} MiB")
    print(f"test accuracy  {100 * network.accuracy(tested, labels):.1f} %")
    print(f"time           {perf_counter() - began:.1f} s")


def show_progress(epoch: int, done: int, steps: int) -> None:
    """A line that overwrites itself, on a terminal only."""
    if sys.stdout.isatty():
        end = "\r" if done < steps else "\r" + " " * 40 + "\r"
        print(f"epoch {epoch + 1:2}   {done}/{steps} batches", end=end, flush=True)


if __name__ == "__main__":
    main()
