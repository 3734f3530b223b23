"""Penstock against the real tf.data over parameters that hypothesis chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from interop.words import Words, trace

quickly = settings(max_examples=40, deadline=None, derandomize=True)
"""Declaring a pipeline costs TensorFlow milliseconds, and tens of them with a function in it."""

sizes = st.integers(0, 17)
counts = st.integers(-1, 20)
lengths = st.lists(st.integers(0, 6), min_size=1, max_size=12)


def compare(ours: Words, theirs: Words, case: Callable[[Words], Any]) -> None:
    """The same stream, and the same length where both know one."""
    mine, other = case(ours), case(theirs)
    assert trace(ours, mine) == trace(theirs, other)
    known = int(other.cardinality())
    if known != -2:
        assert int(mine.cardinality()) == known


def vectors(w: Words, lengths: list[int]) -> Any:
    return w.Dataset.from_tensor_slices(np.array(lengths)).map(lambda n: w.fill(n, n))


@quickly
@given(size=sizes, count=counts)
def test_take_and_skip(ours: Words, theirs: Words, size: int, count: int) -> None:
    compare(ours, theirs, lambda w: w.Dataset.range(size).take(count))
    compare(ours, theirs, lambda w: w.Dataset.range(size).skip(count))


@quickly
@given(size=sizes, first=st.integers(0, 8), second=st.integers(0, 8), times=st.integers(0, 3))
def test_take_skip_and_repeat_in_a_chain(
    ours: Words, theirs: Words, size: int, first: int, second: int, times: int
) -> None:
    compare(ours, theirs, lambda w: w.Dataset.range(size).skip(first).repeat(times).take(second))


@quickly
@given(size=sizes, shards=st.integers(1, 6), data=st.data())
def test_shard(ours: Words, theirs: Words, size: int, shards: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, shards - 1))
    compare(ours, theirs, lambda w: w.Dataset.range(size).shard(shards, index))


@quickly
@given(size=sizes, first=st.integers(1, 7), second=st.integers(1, 4), drop=st.booleans())
def test_batch(ours: Words, theirs: Words, size: int, first: int, second: int, drop: bool) -> None:
    compare(ours, theirs, lambda w: w.Dataset.range(size).batch(first, drop_remainder=drop))
    compare(ours, theirs, lambda w: w.Dataset.range(size).batch(first, True).batch(second, drop))


@quickly
@given(
    size=sizes,
    before=st.integers(1, 7),
    after=st.one_of(st.integers(1, 9), st.lists(st.integers(1, 5), min_size=1, max_size=4)),
    drop=st.booleans(),
)
def test_rebatch(
    ours: Words, theirs: Words, size: int, before: int, after: int | list[int], drop: bool
) -> None:
    compare(
        ours,
        theirs,
        lambda w: w.Dataset.range(size).batch(before).rebatch(after, drop_remainder=drop),
    )


@quickly
@given(size=sizes, batch=st.integers(1, 7))
def test_unbatch(ours: Words, theirs: Words, size: int, batch: int) -> None:
    compare(ours, theirs, lambda w: w.Dataset.range(size).batch(batch).unbatch())


@quickly
@given(
    size=sizes,
    window=st.integers(1, 6),
    shift=st.one_of(st.none(), st.integers(1, 6)),
    stride=st.integers(1, 4),
    drop=st.booleans(),
)
def test_window(
    ours: Words,
    theirs: Words,
    size: int,
    window: int,
    shift: int | None,
    stride: int,
    drop: bool,
) -> None:
    compare(ours, theirs, lambda w: w.Dataset.range(size).window(window, shift, stride, drop))


@quickly
@given(
    lengths=lengths,
    cycle=st.integers(1, 5),
    block=st.integers(1, 4),
    parallel=st.sampled_from([None, 1, 2]),
)
def test_interleave(
    ours: Words,
    theirs: Words,
    lengths: list[int],
    cycle: int,
    block: int,
    parallel: int | None,
) -> None:
    def case(w: Words) -> Any:
        numbered = w.Dataset.from_tensor_slices(np.array(lengths)).enumerate()
        return numbered.interleave(
            lambda i, n: w.Dataset.range(i * 100, i * 100 + n),
            cycle_length=cycle,
            block_length=block,
            num_parallel_calls=parallel and min(parallel, cycle),
            deterministic=parallel and True,
        )

    compare(ours, theirs, case)


@quickly
@given(
    lengths=lengths,
    batch=st.integers(1, 5),
    shape=st.sampled_from([None, [None], [6], [7], [3]]),
    drop=st.booleans(),
    value=st.sampled_from([None, np.int64(-1)]),
)
def test_padded_batch(
    ours: Words,
    theirs: Words,
    lengths: list[int],
    batch: int,
    shape: list[int | None] | None,
    drop: bool,
    value: Any,
) -> None:
    compare(
        ours,
        theirs,
        lambda w: vectors(w, lengths).padded_batch(
            batch, padded_shapes=shape, padding_values=value, drop_remainder=drop
        ),
    )


@quickly
@given(lengths=lengths, batch=st.integers(1, 5), drop=st.booleans())
def test_ragged_batch(ours: Words, theirs: Words, lengths: list[int], batch: int, drop: bool) -> None:
    compare(ours, theirs, lambda w: vectors(w, lengths).ragged_batch(batch, drop_remainder=drop))


@quickly
@given(
    lengths=lengths,
    boundaries=st.lists(st.integers(1, 7), min_size=1, max_size=3, unique=True).map(sorted),
    data=st.data(),
    drop=st.booleans(),
)
def test_bucket_by_sequence_length(
    ours: Words,
    theirs: Words,
    lengths: list[int],
    boundaries: list[int],
    data: st.DataObject,
    drop: bool,
) -> None:
    several = len(boundaries) + 1
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=several, max_size=several))
    compare(
        ours,
        theirs,
        lambda w: vectors(w, lengths).bucket_by_sequence_length(
            w.length, boundaries, sizes, drop_remainder=drop
        ),
    )


@quickly
@given(size=sizes, keys=st.integers(1, 4), window=st.integers(1, 5), batch=st.integers(1, 4))
def test_group_by_window(ours: Words, theirs: Words, size: int, keys: int, window: int, batch: int) -> None:
    compare(
        ours,
        theirs,
        lambda w: w.Dataset.range(size).group_by_window(
            lambda x: x % keys, lambda _, ds: ds.batch(batch), window_size=window
        ),
    )


@quickly
@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    choices=st.lists(st.integers(0, 3), max_size=12),
    stop=st.booleans(),
)
def test_choose_from_datasets(
    ours: Words, theirs: Words, lengths: list[int], choices: list[int], stop: bool
) -> None:
    chosen = np.array([choice % len(lengths) for choice in choices], np.int64)
    compare(
        ours,
        theirs,
        lambda w: w.Dataset.choose_from_datasets(
            [w.Dataset.range(i * 10, i * 10 + n) for i, n in enumerate(lengths)],
            w.Dataset.from_tensor_slices(chosen),
            stop_on_empty_dataset=stop,
        ),
    )


@quickly
@given(sizes=st.lists(sizes, min_size=1, max_size=4), times=st.integers(0, 2))
def test_zip_and_concatenate(ours: Words, theirs: Words, sizes: list[int], times: int) -> None:
    compare(ours, theirs, lambda w: w.Dataset.zip(tuple(map(w.Dataset.range, sizes))))

    def joined(w: Words) -> Any:
        ds = w.Dataset.range(3).repeat(times)
        for size in sizes:
            ds = ds.concatenate(w.Dataset.range(size))
        return ds

    compare(ours, theirs, joined)


@quickly
@given(items=st.lists(st.integers(-3, 3), min_size=1, max_size=20))
def test_unique(ours: Words, theirs: Words, items: list[int]) -> None:
    compare(ours, theirs, lambda w: w.Dataset.from_tensor_slices(np.array(items)).unique())


@quickly
@given(
    items=st.lists(st.binary(max_size=6), min_size=1, max_size=12),
    batch=st.integers(1, 5),
)
def test_bytes(ours: Words, theirs: Words, items: list[bytes], batch: int) -> None:
    array = np.empty(len(items), object)
    array[:] = items
    compare(ours, theirs, lambda w: w.Dataset.from_tensor_slices(array).batch(batch))


@quickly
@given(size=st.integers(1, 8), bad=st.sets(st.integers(0, 7)), take=st.integers(0, 8))
def test_errors_in_their_places(ours: Words, theirs: Words, size: int, bad: set[int], take: int) -> None:
    table = np.array([i in bad for i in range(size)])

    def case(w: Words) -> Any:
        marked = w.Dataset.from_tensor_slices((np.arange(size), table))
        return marked.map(lambda x, broken: w.fail_if(broken, x))

    compare(ours, theirs, case)
    compare(ours, theirs, lambda w: case(w).take(take).enumerate())
    compare(ours, theirs, lambda w: case(w).ignore_errors())
