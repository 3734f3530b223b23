"""range(200,000), handed over one by one: where a library of blocks has the least to offer."""

from collections.abc import Iterator
from typing import Any

from benchmarks.declare import Expected, Peer, Work

ROWS = 200_000
COARSE = 8192


def tally(element: Any) -> tuple[float, ...]:
    """Count one element, and take its value."""
    return 1, float(element)


def expected(_: None) -> tuple[Expected, ...]:
    """Say what the sums must be: they are exact."""
    return Expected(ROWS), Expected(ROWS * (ROWS - 1) / 2)


def penstock(_: None) -> Any:
    """Write it as a user would."""
    import penstock as ps

    return ps.Dataset.range(ROWS)


def tf_naive(_: None) -> Any:
    """Iterate over the data set."""
    import tensorflow as tf

    return tf.data.Dataset.range(ROWS)


def tf_best(_: None) -> Any:
    """Let the next element be made meanwhile."""
    import tensorflow as tf

    return tf.data.Dataset.range(ROWS).prefetch(tf.data.AUTOTUNE)


class Unbatched:
    """Coarse batches of tf.data, walked in Python."""

    def __init__(self, batches: Any) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[Any]:
        for batch in self._batches:
            yield from batch.numpy()


def tf_expert(_: None) -> Any:
    """Batch, and take the batches apart in Python."""
    import tensorflow as tf

    return Unbatched(tf.data.Dataset.range(ROWS).batch(COARSE))


def torch_naive(_: None) -> Any:
    """Let the DataLoader hand over rows as they are."""
    from torch.utils.data import DataLoader

    rows: Any = range(ROWS)
    return DataLoader(rows, batch_size=None)


def grain_naive(_: None) -> Any:
    """Iterate over the data set."""
    import grain

    return grain.MapDataset.range(ROWS)


def grain_best(_: None) -> Any:
    """Iterate without threads, which cost more than they bring here."""
    import grain

    options = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
    return grain.MapDataset.range(ROWS).to_iter_dataset(options)


WORK = Work(
    name="one_by_one",
    title="`range(200_000)`, one element at a time",
    items=ROWS,
    inputs=lambda: None,
    tally=tally,
    expected=expected,
    peers=(
        Peer("penstock", "", penstock),
        Peer("tf.data", "naive", tf_naive),
        Peer("tf.data", "best", tf_best),
        Peer("tf.data", "expert", tf_expert, "(coarse batches, walked in Python)"),
        Peer("torch", "naive", torch_naive),
        Peer("grain", "naive", grain_naive),
        Peer("grain", "best", grain_best),
    ),
)
