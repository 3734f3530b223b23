"""Run in a process of its own, which has four devices: prints what was seen, as JSON."""

from __future__ import annotations

import json
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import penstock as ps

MESH = Mesh(np.array(jax.devices()), ("data",))
ROWS = NamedSharding(MESH, PartitionSpec("data"))
WHOLE = NamedSharding(MESH, PartitionSpec())


def main() -> None:
    rows = {"x": np.arange(64, dtype=np.float32).reshape(16, 4), "n": np.arange(16, dtype=np.int32)}
    ds = ps.Dataset.from_tensor_slices(rows).batch(8)
    seen: dict[str, object] = {}
    for prefetch in (None, 2):
        batches = list(ds.as_jax(ROWS, prefetch=prefetch))
        assert all(part.sharding == ROWS for batch in batches for part in batch.values())
        seen[f"shards {prefetch}"] = [part.data.shape for part in batches[0]["x"].addressable_shards]
        seen[f"values {prefetch}"] = np.concatenate([batch["x"] for batch in batches]).tolist()
    nest = {"x": ROWS, "n": WHOLE}
    (batch, _) = ds.as_jax(nest)
    seen["by leaf"] = [
        len({str(part.index) for part in batch[name].addressable_shards}) for name in ("x", "n")
    ]
    number = next(iter(ps.Dataset.from_tensors(np.float32(7)).as_jax(ROWS)))
    seen["number"] = [float(part.data) for part in number.addressable_shards]
    try:
        list(ps.Dataset.range(7).batch(7).as_jax(ROWS))
    except ps.errors.DataError as error:
        seen["uneven"] = str(error)
    seen["one device"] = str(next(iter(ds.as_jax(jax.devices()[2])))["n"].devices())
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
