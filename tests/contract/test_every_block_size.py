"""One seed, one stream: for every block size from 1 to 4096, with the optimizer's passes on and off.

All 4,096 take minutes: they are tried where PENSTOCK_EVERY_BLOCK_SIZE is set. Otherwise all small ones,
those around each power of two, and others in steps.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import penstock as ps

SIZE = 4200
"""More rows than the largest block has."""
DATA = (np.arange(SIZE * 2, dtype=np.int32).reshape(SIZE, 2), np.arange(SIZE) % 5)


def noisy(x: Any, y: Any) -> Any:
    return x.astype(np.float32) + ps.random.uniform((2,)), y


def wanted(x: Any, y: Any) -> Any:
    return y != 3


def scaled(x: Any, y: Any) -> Any:
    return x * 2, y


def stream(block_rows: int | None, optimize: bool) -> list[bytes]:
    ds = ps.Dataset.from_tensor_slices(DATA).map(noisy).map(scaled).shuffle(500)
    ds = ds.filter(wanted).shuffle(40).batch(33).map(scaled)
    options = ps.Options(block_rows=block_rows, optimize=optimize)
    with ds.with_options(options).iterate(seed=11, epoch=2) as it:
        return [x.tobytes() + y.tobytes() for x, y in it]


def sizes() -> list[int]:
    if os.environ.get("PENSTOCK_EVERY_BLOCK_SIZE"):
        return list(range(1, 4097))
    around = {power + step for power in (32, 64, 128, 256, 512, 1024, 2048, 4096) for step in (-1, 0, 1)}
    return sorted({1, 2, 3, 5, 7, *range(8, 41), *range(41, 4096, 97), *around} - {4097})


@pytest.mark.parametrize("optimize", [True, False])
def test_given_any_block_size_then_the_stream_is_the_same(optimize: bool) -> None:
    expected = stream(None, True)
    assert len(expected) == -(-SIZE * 4 // 5 // 33)
    for rows in sizes():
        assert stream(rows, optimize) == expected, f"blocks of {rows} rows, optimize={optimize}"
