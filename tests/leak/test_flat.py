"""A dataset iterated for ever, and datasets made and dropped, leave nothing behind."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from engine.leftovers import descriptors

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def flat(step: Callable[[int], None], times: int) -> None:
    """Run `step` a tenth of `times` to warm up, then see that the rest changes nothing."""
    warm = times // 10
    for i in range(warm):
        step(i)
    gc.collect()
    before = resident(), set(threading.enumerate()), descriptors(), len(gc.get_objects())
    for i in range(warm, times):
        step(i)
    gc.collect()
    grown = resident() - before[0]
    assert set(threading.enumerate()) <= before[1]
    assert descriptors() <= before[2]
    assert len(gc.get_objects()) - before[3] < 200
    assert grown < 4 << 20, f"grew by {grown} bytes"


@pytest.mark.slow
@pytest.mark.alone
def test_given_one_dataset_when_iterated_10000_times_then_everything_is_flat() -> None:
    data = np.arange(64 * 16, dtype=np.float32).reshape(64, 16)
    ds = ps.Dataset.from_tensor_slices(data).map(lambda x: x * 2).shuffle(16).batch(8).prefetch(2)

    def once(i: int) -> None:
        if i % 3:
            assert sum(len(batch) for batch in ds) == 64
        else:
            for _ in ds:
                break

    flat(once, 10_000)


@pytest.mark.slow
@pytest.mark.alone
def test_given_1000_datasets_when_declared_run_and_dropped_then_everything_is_flat() -> None:
    def once(i: int) -> None:
        ds = ps.Dataset.range(50).map(lambda x: x + i).cache().shuffle(10).repeat(2).batch(4)
        assert sum(len(batch) for batch in ds.prefetch(ps.AUTOTUNE)) == 100

    flat(once, 1000)


@pytest.mark.slow
@pytest.mark.alone
def test_given_a_function_that_fails_when_iterated_again_and_again_then_everything_is_flat() -> None:
    def fails(x: np.int64) -> np.int64:
        if x == 20:
            raise ValueError("twenty")
        return x

    ds = ps.Dataset.range(50).map(fails).batch(4).prefetch(2)

    def once(i: int) -> None:
        with pytest.raises(ps.errors.FunctionError):
            list(ds)

    flat(once, 1000)
