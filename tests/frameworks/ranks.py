"""Run by several processes together: `ranks.py KIND RANK WORLD PORT FOLDER`; each prints what it was fed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps

Fed = dict[str, list[Any]]


def rows(feed: Any) -> list[int]:
    return [int(x) for batch in feed for x in np.asarray(batch).reshape(-1)]


def datasets(folder: Path) -> dict[str, tuple[ps.Dataset, dict[str, Any]]]:
    """What is fed, with the arguments of `as_torch`."""
    records = sorted(map(str, folder.glob("*.tfrecord")))
    numbers = ps.TFRecordDataset(records).map(lambda record: ps.io.decode_raw(record, np.int64))
    shuffled = ps.Dataset.range(37).shuffle(37)
    filtered = ps.Dataset.range(50).filter(lambda x: x % 3 == 0).batch(2)  # 17 elements, 9 batches
    return {
        "shuffled": (shuffled.batch(4), {}),
        "files": (numbers.shuffle(10).batch(3), {}),
        "listed": (ps.Dataset.list_files(f"{folder}/*.tfrecord").interleave(_of_file), {}),
        "dropped": (ps.Dataset.range(37).batch(4), {"remainder": "drop"}),
        "padded": (filtered, {"remainder": "pad"}),
        "all": (ps.Dataset.range(9), {"shard": None}),
    }


def _of_file(path: Any) -> ps.Dataset:
    return ps.TFRecordDataset(path).map(lambda record: ps.io.decode_raw(record, np.int64))


def torch_group(rank: int, world: int, port: str, folder: Path) -> Fed:
    import torch
    from torch.utils.data import DataLoader

    fed: Fed = {}
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world))
    fed["launched"] = rows(datasets(folder)["shuffled"][0].as_torch())
    del os.environ["RANK"], os.environ["WORLD_SIZE"]
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world
    )
    for name, (ds, said) in datasets(folder).items():
        feed = ds.as_torch(**said)
        fed[name] = rows(feed)
        if name in ("dropped", "padded"):
            # As many steps as the others: a collective operation in each would wait for ever otherwise.
            for batch in feed:
                torch.distributed.all_reduce(torch.ones(1) * len(batch))
    fed["with workers"] = rows(DataLoader(datasets(folder)["shuffled"][0].as_torch(), None, num_workers=2))
    fed["length"] = [len(datasets(folder)["shuffled"][0].as_torch())]
    torch.distributed.destroy_process_group()
    return fed


def accelerated(rank: int, world: int, port: str, folder: Path) -> Fed:
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=port
    )
    from accelerate import Accelerator, DataLoaderConfiguration
    from torch.utils.data import DataLoader

    fed: Fed = {}
    rows_alone = ps.Dataset.range(40).shuffle(40)
    ds = rows_alone.batch(4)
    # Accelerate itself needs the size of the batches to share out what every process reads.
    for name, dispatch, loader in (
        ("dispatched", True, DataLoader(ds.as_torch(), batch_size=None)),
        ("sharded", False, DataLoader(rows_alone.as_torch(), batch_size=4)),
    ):
        said = DataLoaderConfiguration(dispatch_batches=dispatch)
        accelerator = Accelerator(cpu=True, dataloader_config=said)
        prepared = accelerator.prepare(loader)
        prepared.set_epoch(1)
        fed[name] = rows(prepared)
    fed["as it is"] = rows(accelerator.prepare(ds.as_torch()))
    accelerator.end_training()
    return fed


def jax_processes(rank: int, world: int, port: str, folder: Path) -> Fed:
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    jax.config.update("jax_platforms", "cpu")
    jax.distributed.initialize(f"127.0.0.1:{port}", world, rank)
    devices = np.array(jax.devices())
    rowwise = NamedSharding(Mesh(devices, ("rows",)), PartitionSpec("rows"))
    everywhere = NamedSharding(Mesh(devices, ("rows",)), PartitionSpec())
    ds = ps.Dataset.range(32).shuffle(32).batch(4)
    fed: Fed = {"by number": [int(x) for batch in ds.as_jax(shard="element") for x in np.asarray(batch)]}
    fed["rows"] = fed_of(ds.as_jax(rowwise))
    fed["everywhere"] = fed_of(ds.as_jax(everywhere))
    fed["shape"] = [list(next(iter(ds.as_jax(rowwise))).shape)]
    jax.distributed.shutdown()
    return fed


def fed_of(feed: Any) -> list[int]:
    parts = [part.data for batch in feed for part in batch.addressable_shards]
    return [int(x) for part in parts for x in np.asarray(part).reshape(-1)]


KINDS: dict[str, Callable[[int, int, str, Path], Fed]] = {
    "torch": torch_group,
    "accelerate": accelerated,
    "jax": jax_processes,
}

if __name__ == "__main__":
    kind, rank, world, port, folder = sys.argv[1:]
    print(json.dumps(KINDS[kind](int(rank), int(world), port, Path(folder))))
