"""range(1,000,000), doubled, in batches of 128: what an element costs when nothing else does."""

from typing import Any

import numpy as np

from benchmarks.declare import Expected, Peer, Work

ROWS = 1_000_000
BATCH = 128
COARSE = 8192


def tally(batch: Any) -> tuple[float, ...]:
    """Count the rows of one batch, and add them up."""
    values = np.asarray(batch)
    return len(values), float(values.sum())


def expected(_: None) -> tuple[Expected, ...]:
    """Say what the sums must be: they are exact."""
    return Expected(ROWS), Expected(ROWS * (ROWS - 1))


def double(x: Any) -> Any:
    """Do the work: the same function for every peer."""
    return x * 2


def penstock(_: None) -> Any:
    """Write it as a user would."""
    import penstock as ps

    return ps.Dataset.range(ROWS).map(double).batch(BATCH)


def tf_naive(_: None) -> Any:
    """Write it in the order of the sentence."""
    import tensorflow as tf

    return tf.data.Dataset.range(ROWS).map(double).batch(BATCH)


def tf_best(_: None) -> Any:
    """Batch before the map, prefetch; a parallel map measured slower, so it is not used."""
    import tensorflow as tf

    return tf.data.Dataset.range(ROWS).batch(BATCH).map(double).prefetch(tf.data.AUTOTUNE)


def tf_parallel(_: None) -> Any:
    """Batch before a parallel map, prefetch."""
    import tensorflow as tf

    auto = tf.data.AUTOTUNE
    batches = tf.data.Dataset.range(ROWS).batch(BATCH)
    return batches.map(double, num_parallel_calls=auto).prefetch(auto)


def tf_expert(_: None) -> Any:
    """Map coarse batches, then cut them."""
    import tensorflow as tf

    return tf.data.Dataset.range(ROWS).batch(COARSE).map(double).rebatch(BATCH)


class Doubled:
    """A map-style data set for the DataLoader: a number, or many at once."""

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: Any) -> Any:
        return double(index)


def torch_naive(_: None) -> Any:
    """Leave it to the DataLoader's sampler and collate function."""
    from torch.utils.data import DataLoader

    rows: Any = Doubled()
    return DataLoader(rows, batch_size=BATCH)


def torch_best(workers: int) -> Any:
    """Hand index arrays to the data set, a batch a call."""

    def build(_: None) -> Any:
        import torch
        from torch.utils.data import DataLoader

        rows: Any = Doubled()
        indices: Any = torch.arange(ROWS).split(BATCH)
        return DataLoader(
            rows,
            sampler=indices,
            batch_size=None,
            num_workers=workers,
            persistent_workers=workers > 0,
        )

    return build


def grain_naive(_: None) -> Any:
    """Write it in the order of the sentence."""
    import grain

    return grain.MapDataset.range(ROWS).map(double).batch(BATCH)


def grain_best(_: None) -> Any:
    """Batch before the map, read by two threads."""
    import grain

    options = grain.ReadOptions(num_threads=2, prefetch_buffer_size=16)
    return grain.MapDataset.range(ROWS).batch(BATCH).map(double).to_iter_dataset(options)


WORK = Work(
    name="range_map_batch",
    title="`range(1_000_000).map(x * 2).batch(128)`",
    items=-(-ROWS // BATCH),
    inputs=lambda: None,
    tally=tally,
    expected=expected,
    goal=20,
    peers=(
        Peer("penstock", "", penstock),
        Peer("tf.data", "naive", tf_naive),
        Peer("tf.data", "best", tf_best),
        Peer("tf.data", "best", tf_parallel, "(parallel map)"),
        Peer("tf.data", "expert", tf_expert, "(coarse batches, cut again)"),
        Peer("torch", "naive", torch_naive),
        Peer("torch", "best", torch_best(0), "(index arrays)"),
        Peer("torch", "best", torch_best(2), "(index arrays, 2 workers)"),
        Peer("grain", "naive", grain_naive),
        Peer("grain", "best", grain_best),
    ),
)
