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
GROUP = 50_000
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


def torch_batches(coarse: int, workers: int) -> Any:
    """Take whole columns of pyarrow's batches, cut to size; workers take row groups in turn."""

    def build(path: str) -> Any:
        from torch.utils.data import DataLoader

        rows: Any = _batches(path, coarse)
        return DataLoader(rows, batch_size=None, num_workers=workers, persistent_workers=workers > 0)

    return build


def _batches(path: str, coarse: int) -> Any:
    import pyarrow.parquet as pq
    import torch
    from torch.utils.data import IterableDataset, get_worker_info

    class Batches(IterableDataset):  # type: ignore[misc, type-arg, unused-ignore]
        def __iter__(self) -> Iterator[Any]:
            worker = get_worker_info()
            first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
            file = pq.ParquetFile(path)
            groups = range(first, file.num_row_groups, step)
            left: dict[str, Any] = {}
            for batch in file.iter_batches(coarse, row_groups=list(groups)):
                made = {name: torch.tensor(batch[name].to_numpy()) for name in batch.schema.names}
                if left:
                    made = {name: torch.cat([left[name], part]) for name, part in made.items()}
                parts = {name: part.split(BATCH) for name, part in made.items()}
                cut = [dict(zip(parts, one, strict=True)) for one in zip(*parts.values(), strict=True)]
                left = cut.pop() if cut and len(cut[-1]["label"]) < BATCH else {}
                yield from cut
            if left:
                yield left

    return Batches()


WORK = Work(
    name="parquet",
    title="Parquet, 500,000 rows of 16 features and a label: `batch(256)`",
    items=-(-ROWS // BATCH),
    inputs=file,
    tally=tally,
    expected=expected,
    goal=2,
    peers=(
        Peer("penstock", "", penstock),
        Peer("torch", "naive", torch_naive, "(pyarrow, rows)"),
        Peer("torch", "best", torch_batches(BATCH, 0), "(pyarrow, batches of 256)"),
        Peer("torch", "expert", torch_batches(COARSE, 0), "(pyarrow, coarse batches)"),
        Peer("torch", "expert", torch_batches(COARSE, 2), "(pyarrow, coarse batches, 2 workers)"),
    ),
)
