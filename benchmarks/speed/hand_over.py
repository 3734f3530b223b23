"""Batches that are there already, handed to a training loop: what a batch costs by itself."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.declare import Expected, Peer, Work

BATCHES = 20_000
SHAPE = (32, 64)


def batches() -> np.ndarray[Any, Any]:
    """All batches, one after another; each full of its own number."""
    filled = np.empty((BATCHES, *SHAPE), np.float32)
    filled[:] = (np.arange(BATCHES) % 64)[:, None, None]
    return filled


def tally(batch: Any) -> tuple[float, ...]:
    """Count one batch, and take its number."""
    if tuple(batch.shape) != SHAPE:
        raise TypeError(f"Expected batches of {SHAPE}, got {tuple(batch.shape)}.")
    return 1.0, float(batch[0, 0])


def expected(_: Any) -> tuple[Expected, ...]:
    """Say how many there must be, and their sum."""
    return Expected(BATCHES), Expected(float((np.arange(BATCHES) % 64).sum()))


def penstock(rows: Any) -> Any:
    """Hand out NumPy's arrays."""
    import penstock as ps

    return ps.Dataset.from_tensor_slices(rows)


def penstock_torch(rows: Any) -> Any:
    """Hand out tensors."""
    import penstock as ps

    return ps.Dataset.from_tensor_slices(rows).as_torch()


def tf_numpy(rows: Any) -> Any:
    """Hand out NumPy's arrays, prefetched."""
    import tensorflow as tf

    ds = tf.data.Dataset.from_tensor_slices(rows).prefetch(tf.data.AUTOTUNE)

    class Passes:
        """An iterator a pass."""

        def __iter__(self) -> Any:
            return ds.as_numpy_iterator()

    return Passes()


def tf_tensors(rows: Any) -> Any:
    """Hand out tensors."""
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices(rows).prefetch(tf.data.AUTOTUNE)


def loader(workers: int) -> Callable[[Any], Any]:
    """Hand out tensors; with workers, through shared memory."""

    def build(rows: Any) -> Any:
        import torch
        from torch.utils.data import DataLoader

        tensors: Any = torch.from_numpy(rows)
        return DataLoader(tensors, batch_size=None, num_workers=workers, persistent_workers=workers > 0)

    return build


def grain_rows(rows: Any) -> Any:
    """Hand out NumPy's arrays."""
    import grain

    return grain.MapDataset.source(rows)


def grain_iter(rows: Any) -> Any:
    """Hand out NumPy's arrays, read ahead by threads, as the guide says."""
    import grain

    return grain.MapDataset.source(rows).to_iter_dataset()


WORK = Work(
    name="hand_over",
    title="20,000 batches of 32x64 float32 that are there already, handed to the training loop",
    items=BATCHES,
    inputs=batches,
    tally=tally,
    expected=expected,
    peers=(
        Peer("penstock", "", penstock),
        Peer("penstock", "", penstock_torch, "as_torch"),
        Peer("tf.data", "best", tf_numpy, "as_numpy_iterator"),
        Peer("tf.data", "best", tf_tensors, "tensors"),
        Peer("torch", "best", loader(0)),
        Peer("torch", "best", loader(2), "(2 workers)"),
        Peer("grain", "naive", grain_rows),
        Peer("grain", "best", grain_iter),
    ),
)
