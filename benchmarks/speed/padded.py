"""50,000 integer sequences of 1 to 99 values, padded_batch(64)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.declare import Expected, Peer, Work

ROWS = 50_000
BATCH = 64

Integers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@dataclass(frozen=True)
class Sequences:
    """All values in one array; row `i` is `values[offsets[i]:offsets[i + 1]]`."""

    values: Integers
    offsets: Integers

    def __getitem__(self, row: int) -> Integers:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def rows(self) -> Iterator[Integers]:
        """Yield every row, as a generator of a user's would."""
        for row in range(len(self)):
            yield self[row]


def sequences() -> Sequences:
    """Make the sequences; no value is 0, which is the padding."""
    random = np.random.default_rng(7)
    offsets = np.concatenate([[0], np.cumsum(random.integers(1, 100, ROWS))])
    return Sequences(random.integers(1, 1000, offsets[-1]), offsets)


def tally(batch: Any) -> tuple[float, ...]:
    """Count the rows of one batch, their values and what these add up to."""
    values = np.asarray(batch)
    return len(values), int(np.count_nonzero(values)), int(values.sum())


def expected(rows: Sequences) -> tuple[Expected, ...]:
    """Say what the sums must be: they are exact."""
    return Expected(ROWS), Expected(len(rows.values)), Expected(int(rows.values.sum()))


def penstock_generator(rows: Sequences) -> Any:
    """Write it as a user would, from a generator."""
    import penstock as ps

    signature = ps.TensorSpec((None,), np.int64)
    source = ps.Dataset.from_generator(rows.rows, output_signature=signature)
    return source.padded_batch(BATCH)


def penstock_map(rows: Sequences) -> Any:
    """Write it as a user would, from row numbers."""
    import penstock as ps

    return ps.Dataset.range(ROWS).map(lambda row: rows[int(row)]).padded_batch(BATCH)


def tf_naive(rows: Sequences) -> Any:
    """Feed a generator."""
    import tensorflow as tf

    signature = tf.TensorSpec((None,), tf.int64)
    source = tf.data.Dataset.from_generator(rows.rows, output_signature=signature)
    return source.padded_batch(BATCH)


def tf_best(rows: Sequences) -> Any:
    """Feed a ragged tensor, element by element."""
    import tensorflow as tf

    ragged = tf.RaggedTensor.from_row_splits(rows.values, rows.offsets)
    elements = tf.data.Dataset.from_tensor_slices(ragged).map(lambda row: row)
    return elements.padded_batch(BATCH).prefetch(tf.data.AUTOTUNE)


def tf_expert(rows: Sequences) -> Any:
    """Batch the ragged rows and pad each batch in one operation."""
    import tensorflow as tf

    auto = tf.data.AUTOTUNE
    ragged = tf.RaggedTensor.from_row_splits(rows.values, rows.offsets)
    batches = tf.data.Dataset.from_tensor_slices(ragged).batch(BATCH)
    return batches.map(lambda rows: rows.to_tensor(), num_parallel_calls=auto).prefetch(auto)


def torch_padded(workers: int) -> Any:
    """Pad in the collate function."""

    def build(rows: Any) -> Any:
        import torch
        from torch.nn.utils.rnn import pad_sequence
        from torch.utils.data import DataLoader

        def collate(batch: list[Integers]) -> Any:
            return pad_sequence(list(map(torch.from_numpy, batch)), batch_first=True)

        return DataLoader(
            rows,
            batch_size=BATCH,
            collate_fn=collate,
            num_workers=workers,
            persistent_workers=workers > 0,
        )

    return build


def padded(rows: Any) -> Integers:
    """Pad a list of NumPy rows (for Grain)."""
    result = np.zeros((len(rows), max(map(len, rows))), np.int64)
    for number, row in enumerate(rows):
        result[number, : len(row)] = row
    return result


def grain_naive(rows: Sequences) -> Any:
    """Pad in the batch function."""
    import grain

    return grain.MapDataset.source(rows).batch(BATCH, batch_fn=padded)


def grain_best(rows: Sequences) -> Any:
    """Pad in the batch function, ahead of the consumer."""
    import grain

    options = grain.ReadOptions(num_threads=1, prefetch_buffer_size=16)
    return grain.MapDataset.source(rows).batch(BATCH, batch_fn=padded).to_iter_dataset(options)


WORK = Work(
    name="padded",
    title="50,000 integer sequences of 1 to 99 values: `padded_batch(64)`",
    items=-(-ROWS // BATCH),
    inputs=sequences,
    tally=tally,
    expected=expected,
    peers=(
        Peer("penstock", "", penstock_generator, "(generator)"),
        Peer("penstock", "", penstock_map, "(range, map)"),
        Peer("tf.data", "naive", tf_naive, "(generator)"),
        Peer("tf.data", "best", tf_best, "(ragged slices)"),
        Peer("tf.data", "expert", tf_expert, "(ragged batches)"),
        Peer("torch", "naive", torch_padded(0)),
        Peer("torch", "best", torch_padded(2), "(2 workers)"),
        Peer("grain", "naive", grain_naive),
        Peer("grain", "best", grain_best),
    ),
)
