"""A plain Python function with a branch that depends on the value, over 100,000 numbers."""

from typing import Any

import numpy as np

from benchmarks.declare import Expected, Peer, Work

ROWS = 100_000
BATCH = 128
COARSE = 8192


def branch(x: Any) -> Any:
    """Decide by the value: nothing here can be done for many rows at once."""
    if x % 3 == 0:
        return x // 3
    if x % 2 == 1:
        return -x
    return x + 7


def branch_rows(rows: Any) -> Any:
    """Call the plain function for each row of a NumPy array."""
    return np.fromiter(map(branch, rows.tolist()), np.int64, len(rows))


def tally(batch: Any) -> tuple[float, ...]:
    """Count the rows of one batch, and add them up."""
    values = np.asarray(batch)
    return len(values), float(values.sum())


def expected(_: None) -> tuple[Expected, ...]:
    """Say what the sums must be: they are exact."""
    return Expected(ROWS), Expected(sum(map(branch, range(ROWS))))


def penstock(_: None) -> Any:
    """Write it as a user would."""
    import penstock as ps

    return ps.Dataset.range(ROWS).map(branch).batch(BATCH)


def tf_naive(_: None) -> Any:
    """Let AutoGraph turn the branches into graph conditions."""
    import tensorflow as tf

    return tf.data.Dataset.range(ROWS).map(branch).batch(BATCH)


def tf_best(coarse: int) -> Any:
    """Call Python once a batch and loop there."""

    def build(_: None) -> Any:
        import tensorflow as tf

        def rows(numbers: Any) -> Any:
            return tf.numpy_function(branch_rows, [numbers], tf.int64)

        batches = tf.data.Dataset.range(ROWS).batch(coarse).map(rows)
        if coarse != BATCH:
            batches = batches.rebatch(BATCH)
        return batches.prefetch(tf.data.AUTOTUNE)

    return build


class Branched:
    """A map-style data set for the DataLoader."""

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: Any) -> Any:
        return branch(index)


def torch_naive(workers: int) -> Any:
    """Leave it to the DataLoader; the function is Python, so only processes help."""

    def build(_: None) -> Any:
        from torch.utils.data import DataLoader

        rows: Any = Branched()
        return DataLoader(
            rows,
            batch_size=BATCH,
            num_workers=workers,
            persistent_workers=workers > 0,
        )

    return build


def grain_naive(_: None) -> Any:
    """Write it in the order of the sentence."""
    import grain

    return grain.MapDataset.range(ROWS).map(branch).batch(BATCH)


def grain_best(_: None) -> Any:
    """Call the function's loop once a batch."""
    import grain

    options = grain.ReadOptions(num_threads=1, prefetch_buffer_size=16)
    return grain.MapDataset.range(ROWS).batch(BATCH).map(branch_rows).to_iter_dataset(options)


WORK = Work(
    name="python_map",
    title="a Python function with a data-dependent branch over 100,000 numbers, `batch(128)`",
    items=-(-ROWS // BATCH),
    inputs=lambda: None,
    tally=tally,
    expected=expected,
    peers=(
        Peer("penstock", "", penstock),
        Peer("tf.data", "naive", tf_naive, "(AutoGraph)"),
        Peer("tf.data", "best", tf_best(BATCH), "(numpy_function a batch)"),
        Peer("tf.data", "expert", tf_best(COARSE), "(numpy_function, coarse batches)"),
        Peer("torch", "naive", torch_naive(0)),
        Peer("torch", "best", torch_naive(2), "(2 workers)"),
        Peer("grain", "naive", grain_naive),
        Peer("grain", "best", grain_best),
    ),
)
