"""`as_torch(writable=True)`: what the user does to a tensor in place changes nothing that comes later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps

pytest.importorskip("torch")

FIXED = np.array([7, 8], np.float32)


@pytest.mark.parametrize(
    "declare",
    [
        lambda ds, _: ds.cache(),
        lambda ds, _: ds.cache().repeat(2),
        lambda ds, _: ds.batch(2).cache().unbatch(),
        lambda ds, _: ds.map(lambda x: x + 1).cache().shuffle(4, seed=1),
        lambda ds, _: ds.shuffle(3, seed=1).repeat(2),
        lambda ds, _: ds.shuffle(seed=1).repeat(2),
        lambda ds, _: ds.repeat(2).prefetch(2),
        lambda ds, _: ds.window(4, shift=1).flat_map(lambda window: window),
        lambda ds, _: ds.flat_map(lambda x: ps.Dataset.from_tensors(x).repeat(3)),
        lambda ds, _: ds.map(lambda x: FIXED),
        lambda ds, _: ps.Dataset.zip(ds, ds).map(lambda a, b: a),
        lambda ds, folder: ds.snapshot(folder / "snapshot"),
        lambda ds, folder: ds.cache(str(folder / "cache")),
    ],
)
@pytest.mark.parametrize("batched", [False, True])
def test_given_writable_then_what_the_pipeline_keeps_is_not_written_to(
    declare: Any, batched: bool, tmp_path: Path
) -> None:
    rows = np.arange(24, dtype=np.float32).reshape(12, 2)

    def declared(folder: str) -> ps.Dataset:
        (tmp_path / folder).mkdir()
        ds = declare(ps.Dataset.from_tensor_slices(rows.copy()), tmp_path / folder)
        return ds.batch(3) if batched else ds

    plain = declared("a")
    expected = [[x.tolist() for x in plain.iterate(epoch=epoch)] for epoch in range(3)]
    feed = declared("b").as_torch(writable=True)
    for epoch in range(3):
        got = []
        for x in feed:
            got.append(x.tolist())
            x.fill_(-1)
        assert got == expected[epoch]
    assert FIXED.tolist() == [7, 8]
