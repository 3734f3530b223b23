"""A Parquet file of 500,000 rows of 16 features and a label, in batches of 256."""

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.declare import Expected, Peer, Work

ROWS = 500_000
FEATURES = 16
GROUP = 196 * 256
BATCH = 256
COARSE = 65_536


@cache
def _folder() -> Any:
    return tempfile.TemporaryDirectory(prefix="penstock-bench-")  # gone when the process ends


def file() -> str:
    """Write the file, the same for every peer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(_folder().name) / "rows.parquet"
    if not path.exists():
        random = np.random.default_rng(7)
        columns = {f"f{i}": random.random(ROWS, np.float32) for i in range(FEATURES)}
        table = pa.table({"label": np.arange(ROWS) % 10, **columns})
        pq.write_table(table, path, row_group_size=GROUP)
    return str(path)


def tally(batch: Any) -> tuple[float, ...]:
    """Count the rows of one batch; add up its labels and its features."""
    features = [np.asarray(batch[f"f{i}"], np.float64).sum() for i in range(FEATURES)]
    return len(batch["label"]), float(np.asarray(batch["label"]).sum()), float(sum(features))


def expected(path: str) -> tuple[Expected, ...]:
    """Say what the sums must be: exact, but for rounding."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    features = sum(table[f"f{i}"].to_numpy().sum(dtype=np.float64) for i in range(FEATURES))
    return Expected(ROWS), Expected(float(table["label"].to_numpy().sum())), Expected(float(features), 1e-6)


def penstock(path: str) -> Any:
    """Write it as a user would."""
    import penstock as ps

    return ps.ParquetDataset(path).batch(BATCH).prefetch(ps.AUTOTUNE)


def torch_naive(path: str) -> Any:
    """Let rows of pyarrow's batches be collated by the DataLoader."""
    import pyarrow.parquet as pq
    from torch.utils.data import DataLoader, IterableDataset

    class Rows(IterableDataset):  # type: ignore[misc, type-arg, unused-ignore]
        def __iter__(self) -> Iterator[Any]:
            for batch in pq.ParquetFile(path).iter_batches():
                yield from batch.to_pylist()

    return DataLoader(Rows(), batch_size=BATCH)


def torch_groups(coarse: int, workers: int) -> Any:
    """Take whole columns of pyarrow's batches, cut to size: a row group a call, in workers if so said."""

    def build(path: str) -> Any:
        from torch.utils.data import DataLoader

        groups: Any = Groups(path, coarse)
        # A worker that is forked from a process with Arrow's threads would wait for ever.
        started = {"multiprocessing_context": "spawn", "persistent_workers": True} if workers else {}
        loader: Any = DataLoader(groups, batch_size=None, num_workers=workers, **started)
        return Cut(loader)

    return build


class Groups:
    """A map-style data set for the DataLoader: the columns of pyarrow's batches of one row group."""

    def __init__(self, path: str, coarse: int) -> None:
        self._path = path
        self._coarse = coarse
        self._file: Any = None

    def __len__(self) -> int:
        return -(-ROWS // GROUP)

    def __getitem__(self, group: int) -> list[Any]:
        import pyarrow.parquet as pq
        import torch

        if self._file is None:
            self._file = pq.ParquetFile(self._path)
        return [
            {name: torch.tensor(batch[name].to_numpy()) for name in batch.schema.names}
            for batch in self._file.iter_batches(self._coarse, row_groups=[group])
        ]


class Cut:
    """What comes of every row group, cut to batches."""

    def __init__(self, groups: Any) -> None:
        self._groups = groups

    def __iter__(self) -> Iterator[Any]:
        for group in self._groups:
            for columns in group:
                parts = [column.split(BATCH) for column in columns.values()]
                for one in zip(*parts, strict=True):
                    yield dict(zip(columns, one, strict=True))


WORK = Work(
    name="parquet",
    title="Parquet, 500,000 rows of 16 features and a label: `batch(256)`",
    items=-(-ROWS // BATCH),
    inputs=file,
    tally=tally,
    expected=expected,
    goal=2,
    against="DataLoader",
    peers=(
        Peer("penstock", "", penstock),
        Peer("torch", "naive", torch_naive, "(pyarrow, rows)"),
        Peer("torch", "best", torch_groups(BATCH, 0), "(pyarrow, batches of 256)"),
        Peer("torch", "expert", torch_groups(COARSE, 0), "(pyarrow, coarse batches)"),
        Peer("torch", "expert", torch_groups(COARSE, 2), "(pyarrow, coarse batches, 2 workers)"),
    ),
)
