"""However many rows are asked for from pull to pull, the stream is the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.streams import FAILED, failing, plain


def vector(n: Any) -> Any:
    return np.full(int(n) % 4, int(n))


def several(n: Any) -> ps.Dataset:
    return ps.Dataset.from_tensors(n).repeat(int(n) % 4)


def rows() -> ps.Dataset:
    return failing(240, 0, 17, 18, 100, 239)


STREAMS: dict[str, Callable[[], ps.Dataset]] = {
    "assert_cardinality": lambda: rows().apply(ps.assert_cardinality(235)),
    "batch": lambda: rows().batch(7),
    "bucket_by_sequence_length": lambda: rows().map(vector).bucket_by_sequence_length(len, [2, 3], [9, 4, 5]),
    "concatenate": lambda: rows().concatenate(rows()),
    "counter": lambda: ps.Dataset.counter(3, 2).take(200),
    "enumerate": lambda: rows().enumerate(),
    "filter": lambda: rows().filter(lambda x: x % 5 < 2),
    "filter, few": lambda: rows().filter(lambda x: x % 60 == 7),
    "flat_map": lambda: rows().flat_map(several),
    "from_generator": lambda: ps.Dataset.from_generator(lambda: iter([1, (2,), 3] * 70)),
    "from_tensor_slices": lambda: ps.Dataset.from_tensor_slices(np.arange(300)),
    "group_by_window": lambda: rows().group_by_window(lambda x: x % 3, lambda _, g: g.batch(4), 8),
    "ignore_errors": lambda: rows().ignore_errors(),
    "map": lambda: rows().map(lambda x: x + 1),
    "pad_to_cardinality": lambda: rows().map(lambda x: {"x": x}).apply(ps.pad_to_cardinality(300)),
    "random": lambda: ps.Dataset.random(seed=1).take(200),
    "rebatch": lambda: rows().map(vector).rebatch(5),
    "rebatch, list": lambda: rows().map(vector).rebatch([3, 0, 8]),
    "repeat": lambda: rows().take(30).repeat(5),
    "scan": lambda: rows().scan(0, lambda s, x: (s + x, s)),
    "shard": lambda: rows().shard(7, 3),
    "shard of arrays": lambda: ps.Dataset.range(500).shard(3, 2),
    "skip": lambda: rows().skip(50),
    "skip of arrays": lambda: ps.Dataset.range(300).skip(50),
    "take": lambda: rows().take(150),
    "take_while": lambda: rows().take_while(lambda x: x < 170),
    "unbatch": lambda: rows().map(vector).unbatch(),
    "unique": lambda: rows().map(lambda x: x // 3).unique(),
    "window": lambda: rows().window(6).flat_map(lambda w: w.batch(6)),
    "window, sliding": lambda: rows().window(5, shift=2, stride=2).flat_map(lambda w: w.batch(5)),
    "window, with gaps": lambda: rows().window(3, shift=8).flat_map(lambda w: w),
    "zip": lambda: ps.Dataset.zip(rows(), rows().filter(lambda x: x % 3 > 0), ps.Dataset.counter()),
}


def pulled(ds: ps.Dataset, demand: Callable[[], int]) -> list[Any]:
    """All elements of a run, with so many rows asked for at each pull."""
    out: list[Any] = []
    with ds.iterate(seed=7, epoch=0) as it:
        while True:
            asked = demand()
            try:
                block = it._run.root.pull(asked)
            except ps.errors.ElementError:
                out.append(FAILED)
                continue
            if block is None:
                assert it._run.root.pull(1) is None
                return out
            assert 1 <= block.rows <= asked
            out += [plain(element) for element in block.elements()]


@pytest.mark.parametrize("name", STREAMS)
def test_given_demands_of_any_size_then_the_stream_is_the_same(name: str) -> None:
    ds = STREAMS[name]()
    expected = pulled(ds, lambda: 1)
    assert len(expected) > 4
    for seed in range(4):
        draw = random.Random(seed)
        got = pulled(ds, lambda: draw.choice([1, 2, 3, 8, 30, 120]))
        assert got == expected, f"demands drawn with seed {seed}"


@pytest.mark.parametrize("rows", [1, 2, 5, None])
def test_given_arrays_in_the_other_order_of_bytes_then_elements_are_in_the_machines(rows: int | None) -> None:
    other = np.arange(12, dtype=np.dtype(np.int32).newbyteorder()).reshape(6, 2)
    assert not other.dtype.isnative
    made = ps.Dataset.from_generator(lambda: iter(other))
    turned = made.map(lambda x: x.view(other.dtype).byteswap())
    for ds in (made, ps.Dataset.from_tensor_slices(other), turned):
        for words in (ds, ds.map(lambda x: x), ds.shuffle(3), ds.shuffle(3).batch(2), ds.cache()):
            got = list(words.with_options(ps.Options(block_rows=rows)))
            assert all(x.dtype == np.int32 and x.dtype.isnative for x in got)
            assert sorted(np.concatenate([x.ravel() for x in got]).tolist()) == list(range(12))
