"""A pure-Python function of about 1 ms an element: a whole pass, and the first batch of one."""

import os
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy as np

from benchmarks.declare import Expected, Peer, Work

ROWS = 2_048
BATCH = 64
TURNS = 48_000
"""So many turns of a loop take about 1 ms on a machine of 2025."""
FIRST_BATCHES = (8, 32, 64)
"""How large the first batch is."""


def heavy(x: Any) -> int:
    """Keep Python itself busy; the result depends on the element alone."""
    total = 0
    for turn in range(TURNS):
        total += turn & 3
    return int(x) + total % 2


class Rows:
    """A map-style data set for the DataLoader."""

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: Any) -> Any:
        return heavy(index)


def tally(batch: Any) -> tuple[float, ...]:
    """Count the rows of one batch, and add them up."""
    values = np.asarray(batch)
    return len(values), float(values.sum())


def expected_of(rows: int) -> Callable[[None], tuple[Expected, ...]]:
    """Say what the sums of the first rows must be: they are exact."""
    return lambda _: (Expected(rows), Expected(sum(range(rows)) + rows * (heavy(0) % 2)))


def penstock(executor: str, batch: int = BATCH) -> Callable[[None], Any]:
    """Write it as a user would."""

    def build(_: None) -> Any:
        import penstock as ps

        rows = ps.Dataset.range(ROWS)
        return rows.map(heavy, num_parallel_calls=ps.AUTOTUNE, executor=executor).batch(batch)

    return build


def torch(workers: int, *, keep: bool, batch: int = BATCH) -> Callable[[None], Any]:
    """Leave it to the DataLoader: the function is Python, so only processes help."""

    def build(_: None) -> Any:
        from torch.utils.data import DataLoader

        rows: Any = Rows()
        return DataLoader(rows, batch_size=batch, num_workers=workers, persistent_workers=keep)

    return build


def grain(workers: int, batch: int = BATCH) -> Callable[[None], Any]:
    """Spread the rows over worker processes."""

    def build(_: None) -> Any:
        import grain

        rows = grain.MapDataset.range(ROWS).map(heavy).batch(batch).to_iter_dataset()
        return rows.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers)) if workers else rows

    return build


def tf_data(batch: int = BATCH) -> Callable[[None], Any]:
    """Call Python from parallel calls, as there is no other way: one lock for all of them."""

    def build(_: None) -> Any:
        import tensorflow as tf

        def call(x: Any) -> Any:
            return tf.ensure_shape(tf.numpy_function(lambda v: np.int64(heavy(v)), [x], tf.int64), ())

        return tf.data.Dataset.range(ROWS).map(call, num_parallel_calls=tf.data.AUTOTUNE).batch(batch)

    return build


class Bare:
    """What two cores can do: a process for each half of the rows, and nothing else."""

    def __init__(self, rows: int, batch: int) -> None:
        self._rows, self._batch = rows, batch

    def __iter__(self) -> Iterator[Any]:
        middle = self._rows // 2
        halves = [self._half(numbers) for numbers in (range(middle), range(middle, self._rows))]
        made = np.concatenate([np.frombuffer(half.read(), np.int64) for half in halves])
        for half in halves:
            half.close()
        yield from made.reshape(-1, self._batch)

    def _half(self, numbers: range) -> BinaryIO:
        read, write = os.pipe()
        if os.fork() == 0:
            try:
                os.write(write, np.array([heavy(number) for number in numbers]).tobytes())
            finally:
                os._exit(0)
        os.close(write)
        return os.fdopen(read, "rb")


class First:
    """The first batch of an epoch that goes on to its end, as in a training loop; only it is timed."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._last: Any = None

    def settle(self) -> None:
        """Go on to the end; this is not timed. The next epoch begins at once."""
        for _ in self._last:
            pass
        self._last = None  # DataLoader ends its workers when nobody has its iterator any more

    def __iter__(self) -> Iterator[Any]:
        self._last = iter(self._stream)
        yield next(self._last)


def first(build: Callable[[None], Any]) -> Callable[[None], Any]:
    """The same, for the first batch alone."""
    return lambda inputs: First(build(inputs))


HEAVY = Work(
    name="heavy_python",
    title=f"a Python function of 1 ms an element over {ROWS:,} numbers, `batch({BATCH})`",
    items=ROWS // BATCH,
    inputs=lambda: None,
    tally=tally,
    expected=expected_of(ROWS),
    peers=(
        Peer("penstock", "", penstock("auto")),
        Peer("penstock", "asked", penstock("processes"), "(executor='processes')"),
        Peer("penstock", "asked", penstock("jit"), "(executor='jit')"),
        Peer("tf.data", "naive", tf_data(), "(numpy_function)"),
        Peer("torch", "naive", torch(0, keep=False), "(no workers)"),
        Peer("torch", "naive", torch(1, keep=False), "(1 worker)"),
        Peer("torch", "naive", torch(2, keep=False), "(2 workers)"),
        Peer("torch", "naive", torch(3, keep=False), "(3 workers)"),
        Peer("torch", "best", torch(2, keep=True), "(2 workers, kept)"),
        Peer("torch", "best", torch(3, keep=True), "(3 workers, kept)"),
        Peer("grain", "naive", grain(0)),
        Peer("grain", "best", grain(2), "(2 workers)"),
        Peer("no library", "", lambda _: Bare(ROWS, BATCH), "(2 bare processes)"),
    ),
    goal=1.1,
    against="DataLoader",
    repeat=3,
)


def first_of(batch: int) -> Work:
    """The first batch of so many rows; *first pass* is that of the first epoch."""
    return Work(
        name=f"heavy_python_first_{batch}",
        title=f"the first batch of {batch} of the same, in later epochs",
        items=1,
        inputs=lambda: None,
        tally=tally,
        expected=expected_of(batch),
        peers=(
            Peer("penstock", "", first(penstock("auto", batch))),
            Peer("penstock", "asked", first(penstock("processes", batch)), "(executor='processes')"),
            Peer("penstock", "asked", first(penstock("jit", batch)), "(executor='jit')"),
            Peer("tf.data", "naive", first(tf_data(batch)), "(numpy_function)"),
            Peer("torch", "naive", first(torch(1, keep=False, batch=batch)), "(1 worker)"),
            Peer("torch", "naive", first(torch(2, keep=False, batch=batch)), "(2 workers)"),
            Peer("torch", "naive", first(torch(3, keep=False, batch=batch)), "(3 workers)"),
            Peer("torch", "best", first(torch(2, keep=True, batch=batch)), "(2 workers, kept)"),
            Peer("torch", "best", first(torch(3, keep=True, batch=batch)), "(3 workers, kept)"),
            Peer("grain", "best", first(grain(2, batch)), "(2 workers)"),
            Peer("no library", "", lambda _: Bare(batch, batch), "(2 bare processes)"),
        ),
        goal=3,
        against="DataLoader",
        repeat=2,
    )


FIRSTS = tuple(map(first_of, FIRST_BATCHES))
