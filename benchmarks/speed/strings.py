"""200,000 short byte strings: shuffle(10000), batch(128)."""

from typing import Any

import numpy as np

from benchmarks.declare import Expected, Peer, Work

ROWS = 200_000
BUFFER = 10_000
BATCH = 128
COARSE = 8192


def words() -> list[bytes]:
    """Make the strings: 7 to 18 bytes each."""
    lengths = np.random.default_rng(7).integers(0, 12, ROWS)
    return [b"w%06d" % number + b"x" * int(length) for number, length in enumerate(lengths)]


def tally(batch: Any) -> tuple[float, ...]:
    """Count the strings of one batch; add up their lengths and the numbers in them."""
    rows = batch if isinstance(batch, list) else np.asarray(batch).tolist()
    return len(rows), sum(map(len, rows)), sum(int(word[1:7]) for word in rows)


def expected(rows: list[bytes]) -> tuple[Expected, ...]:
    """Say what the sums must be: they are exact."""
    return Expected(ROWS), Expected(sum(map(len, rows))), Expected(ROWS * (ROWS - 1) / 2)


def penstock(rows: list[bytes]) -> Any:
    """Write it as a user would."""
    import penstock as ps

    return ps.Dataset.from_tensor_slices(rows).shuffle(BUFFER).batch(BATCH)


def tf_strings(form: str) -> Any:
    """Write it for tf.data: plainly, prefetched, or with shuffled indices and one gather."""

    def build(rows: list[bytes]) -> Any:
        import tensorflow as tf

        auto = tf.data.AUTOTUNE
        if form == "naive":
            return tf.data.Dataset.from_tensor_slices(rows).shuffle(BUFFER).batch(BATCH)
        if form == "best":
            shuffled = tf.data.Dataset.from_tensor_slices(rows).shuffle(BUFFER)
            return shuffled.batch(BATCH).prefetch(auto)
        store = tf.constant(rows)
        numbers = tf.data.Dataset.range(ROWS).shuffle(BUFFER).batch(COARSE)
        gathered = numbers.map(lambda chosen: tf.gather(store, chosen))
        return gathered.rebatch(BATCH).prefetch(auto)

    return build


class Words:
    """A map-style data set for the DataLoader: one string, or all those of a batch."""

    def __init__(self, rows: list[bytes]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> bytes:
        return self._rows[index]


class BatchedWords(Words):
    """The same, asked for a whole batch at a time."""

    def __getitems__(self, indices: list[int]) -> list[bytes]:
        return [self._rows[index] for index in indices]


def torch_naive(rows: list[bytes]) -> Any:
    """Leave it to the DataLoader, which makes lists of strings."""
    from torch.utils.data import DataLoader

    data: Any = Words(rows)
    return DataLoader(data, batch_size=BATCH, shuffle=True)


def torch_best(rows: list[bytes]) -> Any:
    """Ask for a batch a call, and leave the list as it is."""
    from torch.utils.data import DataLoader

    data: Any = BatchedWords(rows)
    return DataLoader(data, batch_size=BATCH, shuffle=True, collate_fn=list)


def grain_naive(rows: list[bytes]) -> Any:
    """Write it in the order of the sentence; strings are stacked into a NumPy array."""
    import grain

    return grain.MapDataset.source(rows).seed(1).shuffle().batch(BATCH)


def grain_best(rows: list[bytes]) -> Any:
    """Batch the shuffled indices and take the strings a batch at a time, as a list."""
    import grain

    options = grain.ReadOptions(num_threads=1, prefetch_buffer_size=16)
    numbers = grain.MapDataset.range(ROWS).seed(1).shuffle().batch(BATCH)
    taken = numbers.map(lambda chosen: [rows[number] for number in chosen.tolist()])
    return taken.to_iter_dataset(options)


WORK = Work(
    name="strings",
    title="200,000 byte strings: `shuffle(10_000).batch(128)`",
    items=-(-ROWS // BATCH),
    inputs=words,
    tally=tally,
    expected=expected,
    peers=(
        Peer("penstock", "", penstock),
        Peer("tf.data", "naive", tf_strings("naive")),
        Peer("tf.data", "best", tf_strings("best")),
        Peer("tf.data", "expert", tf_strings("gather"), "(indices, gather)"),
        Peer("torch", "naive", torch_naive),
        Peer("torch", "best", torch_best, "(a batch a call)"),
        Peer("grain", "naive", grain_naive),
        Peer("grain", "best", grain_best, "(indices, then lists)"),
    ),
)
