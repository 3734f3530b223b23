"""Pipelines that both libraries must read in the same way, by name.

Each is a function of `Words`. A name in `LOOSE` uses Python's own numbers, which are 32-bit there
and NumPy's defaults here. Words whose order is random are compared in `test_randomness.py`.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from interop.words import Words

Case = Callable[[Words], Any]
Point = namedtuple("Point", ["x", "y"])

PAIRS = (np.arange(12, dtype=np.int32).reshape(6, 2), np.arange(6, dtype=np.float32))
RECORDS = {"image": np.arange(24, dtype=np.uint8).reshape(6, 2, 2), "label": np.arange(6)}
STRINGS = np.array([b"a", b"", b"ccc", b"dd", b"\x00e\xff", b"f\x00"], dtype=object)
LENGTHS = np.array([3, 1, 0, 4, 2, 2, 5, 1, 3, 0, 2])


def pairs(w: Words) -> Any:
    return w.Dataset.from_tensor_slices(PAIRS)


def records(w: Words) -> Any:
    return w.Dataset.from_tensor_slices(RECORDS)


def vectors(w: Words) -> Any:
    """Vectors of several lengths: [3, 3, 3], [1], [], ..."""
    return w.Dataset.from_tensor_slices(LENGTHS).map(lambda n: w.fill(n, n))


def failing(w: Words, *bad: int, size: int = 8) -> Any:
    """Numbers, of which some fail."""

    def check(x: Any) -> Any:
        for number in bad:
            x = w.fail_if(x == number, x)
        return x

    return w.Dataset.range(size).map(check)


def count_up(stop: int = 4) -> Iterator[int]:
    yield from range(stop)


def some_pairs() -> Iterator[tuple[Any, Any]]:
    for i in range(3):
        yield np.full(i, i, np.int64), {"name": b"n%d" % i}


SOURCES: dict[str, Case] = {
    "range(stop)": lambda w: w.Dataset.range(5),
    "range(start, stop)": lambda w: w.Dataset.range(2, 5),
    "range(start, stop, step)": lambda w: w.Dataset.range(1, 10, 3),
    "range(down)": lambda w: w.Dataset.range(5, 0, -2),
    "range(empty)": lambda w: w.Dataset.range(5, 1),
    "range(output_type)": lambda w: w.Dataset.range(3, output_type="int32"),
    "range(float)": lambda w: w.Dataset.range(3, output_type="float32"),
    "from_tensors(array)": lambda w: w.Dataset.from_tensors(PAIRS[0]),
    "from_tensors(nest)": lambda w: w.Dataset.from_tensors({"a": PAIRS, "b": np.int64(3)}),
    "from_tensors(bytes)": lambda w: w.Dataset.from_tensors(b"whole"),
    "from_tensor_slices(array)": lambda w: w.Dataset.from_tensor_slices(PAIRS[0]),
    "from_tensor_slices(list)": lambda w: w.Dataset.from_tensor_slices([1, 2, 3]),
    "from_tensor_slices(floats)": lambda w: w.Dataset.from_tensor_slices([0.5, 1.5]),
    "from_tensor_slices(tuple)": pairs,
    "from_tensor_slices(tuple of lists)": lambda w: w.Dataset.from_tensor_slices(([1, 2], [[3, 4], [5, 6]])),
    "from_tensor_slices(dict)": records,
    "from_tensor_slices(nest)": lambda w: w.Dataset.from_tensor_slices(
        {"a": (PAIRS[0], {"b": PAIRS[1]}), "c": STRINGS}
    ),
    "from_tensor_slices(namedtuple)": lambda w: w.Dataset.from_tensor_slices(Point(*PAIRS)),
    "from_tensor_slices(bytes)": lambda w: w.Dataset.from_tensor_slices(STRINGS),
    "from_tensor_slices(list of bytes)": lambda w: w.Dataset.from_tensor_slices([b"x", b"yy"]),
    "from_tensor_slices(list of str)": lambda w: w.Dataset.from_tensor_slices(["x", "yé"]),
    "from_tensor_slices(bytes matrix)": lambda w: w.Dataset.from_tensor_slices(STRINGS.reshape(3, 2)),
    "from_tensor_slices(bool)": lambda w: w.Dataset.from_tensor_slices(np.array([True, False])),
    "from_tensor_slices(empty)": lambda w: w.Dataset.from_tensor_slices(np.zeros((0, 3))),
    "from_tensor_slices(zero width)": lambda w: w.Dataset.from_tensor_slices(np.zeros((3, 0))),
    "from_generator(signature)": lambda w: w.Dataset.from_generator(
        count_up, output_signature=w.TensorSpec((), "int64")
    ),
    "from_generator(args)": lambda w: w.Dataset.from_generator(
        count_up, args=(3,), output_signature=w.TensorSpec((), "int64")
    ),
    "from_generator(nest)": lambda w: w.Dataset.from_generator(
        some_pairs,
        output_signature=(
            w.TensorSpec((None,), "int64"),
            {"name": w.TensorSpec((), w.string)},
        ),
    ),
    "from_generator(cast)": lambda w: w.Dataset.from_generator(
        count_up, output_signature=w.TensorSpec((), "float32")
    ),
    "counter": lambda w: w.Dataset.counter(),
    "counter(start, step)": lambda w: w.Dataset.counter(start=10, step=-3),
    "counter(dtype)": lambda w: w.Dataset.counter(dtype=np.int32),
}

FUNCTIONS: dict[str, Case] = {
    "map": lambda w: w.Dataset.range(5).map(lambda x: x * 2),
    "map(unpacked)": lambda w: pairs(w).map(lambda x, y: (y, x)),
    "map(dict)": lambda w: records(w).map(lambda r: {"sum": r["label"] + 1, "image": r["image"]}),
    "map(namedtuple in)": lambda w: w.Dataset.from_tensor_slices(Point(*PAIRS)).map(lambda p: p.y),
    "map(namedtuple out)": lambda w: pairs(w).map(lambda x, y: Point(x, y)),
    "map(nested tuple)": lambda w: pairs(w).map(lambda x, y: ((x, y), {"y": y})),
    "map(one-tuple)": lambda w: w.Dataset.range(3).map(lambda x: (x,)),
    "map(one-tuple in)": lambda w: w.Dataset.range(3).map(lambda x: (x,)).map(lambda x: x + 1),
    "map(list at the top)": lambda w: w.Dataset.range(3).map(lambda x: [x, x + 1]),
    "map(list below the top)": lambda w: w.Dataset.range(3).map(lambda x: {"a": [x, x + 1]}),
    "map(list inside a tuple)": lambda w: w.Dataset.range(3).map(lambda x: (x, [x, x + 1])),
    "map(python int)": lambda w: w.Dataset.range(3).map(lambda x: 7),
    "map(python float)": lambda w: w.Dataset.range(3).map(lambda x: 0.5),
    "map(bool)": lambda w: w.Dataset.range(4).map(lambda x: x > 1),
    "map(cast)": lambda w: records(w).map(lambda r: w.cast(r["image"], "float32") / 255),
    "map(index)": lambda w: pairs(w).map(lambda x, y: x[::-1]),
    "map(stack)": lambda w: w.Dataset.range(3).map(lambda x: w.stack([x, x * x])),
    "map(several shapes)": vectors,
    "map(parallel)": lambda w: w.Dataset.range(9).map(lambda x: x * x, num_parallel_calls=3),
    "map(AUTOTUNE)": lambda w: w.Dataset.range(9).map(
        lambda x: x + 1, num_parallel_calls=w.AUTOTUNE, deterministic=True
    ),
    "map(bytes)": lambda w: w.Dataset.from_tensor_slices(STRINGS).map(lambda s: s),
    "map(constant array)": lambda w: w.Dataset.range(2).map(lambda x: PAIRS[0]),
    "filter": lambda w: w.Dataset.range(10).filter(lambda x: x % 3 == 0),
    "filter(unpacked)": lambda w: pairs(w).filter(lambda x, y: y > 2),
    "filter(dict)": lambda w: records(w).filter(lambda r: r["label"] < 2),
    "filter(none left)": lambda w: w.Dataset.range(5).filter(lambda x: x < 0),
    "take_while": lambda w: w.Dataset.range(10).take_while(lambda x: x * x < 20),
    "take_while(unpacked)": lambda w: pairs(w).take_while(lambda x, y: y < 3),
    "take_while(first fails)": lambda w: w.Dataset.range(5).take_while(lambda x: x > 2),
    "scan": lambda w: w.Dataset.range(6).scan(np.int64(0), lambda s, x: (s + x, s * 10)),
    "scan(tuple element)": lambda w: pairs(w).scan(np.float32(0), lambda s, e: (s + e[1], (e[0], s))),
    "scan(tuple state)": lambda w: w.Dataset.range(5).scan(
        (np.int64(1), np.int64(1)), lambda s, x: ((s[1], s[0] + s[1]), s[0])
    ),
    "enumerate": lambda w: w.Dataset.range(3, 6).enumerate(),
    "enumerate(start)": lambda w: pairs(w).enumerate(start=5),
    "enumerate(map)": lambda w: w.Dataset.range(3, 6).enumerate().map(lambda i, x: i * x),
    "apply": lambda w: w.Dataset.range(5).apply(lambda ds: ds.skip(2)),
    "unique": lambda w: w.Dataset.from_tensor_slices([1, 3, 1, 2, 3, 5]).unique(),
    "unique(bytes)": lambda w: w.Dataset.from_tensor_slices([b"a", b"b", b"a"]).unique(),
    "group_by_reducer": lambda w: w.Dataset.range(10).apply(
        w.experimental.group_by_reducer(
            lambda x: x % 3,
            w.experimental.Reducer(lambda key: np.int64(0), lambda state, x: state + x, lambda state: state),
        )
    ),
    "group_by_reducer(nest)": lambda w: pairs(w).apply(
        w.experimental.group_by_reducer(
            lambda x, y: w.cast(y, "int64") % 2,
            w.experimental.Reducer(
                lambda key: (key, np.float32(0)),
                lambda state, e: (state[0], state[1] + e[1]),
                lambda key, total: {"key": key, "total": total},
            ),
        )
    ),
}

STREAMS: dict[str, Case] = {
    "take(0)": lambda w: w.Dataset.range(5).take(0),
    "take(-1)": lambda w: w.Dataset.range(5).take(-1),
    "take(more)": lambda w: w.Dataset.range(5).take(9),
    "skip(0)": lambda w: w.Dataset.range(5).skip(0),
    "skip(-1)": lambda w: w.Dataset.range(5).skip(-1),
    "skip(more)": lambda w: w.Dataset.range(5).skip(9),
    "repeat()": lambda w: w.Dataset.range(3).repeat(),
    "repeat(-1)": lambda w: w.Dataset.range(3).repeat(-1),
    "repeat(0)": lambda w: w.Dataset.range(3).repeat(0),
    "repeat(3)": lambda w: w.Dataset.range(3).repeat(3),
    "repeat(empty)": lambda w: w.Dataset.range(0).repeat(3),
    "repeat then take": lambda w: w.Dataset.range(3).repeat().take(7),
    "repeat before batch": lambda w: w.Dataset.range(3).repeat(3).batch(4),
    "shard": lambda w: w.Dataset.range(10).shard(3, 1),
    "shard(one)": lambda w: w.Dataset.range(4).shard(1, 0),
    "shard(empty)": lambda w: w.Dataset.range(2).shard(5, 4),
    "concatenate": lambda w: w.Dataset.range(3).concatenate(w.Dataset.range(5, 7)),
    "concatenate(shapes)": lambda w: w.Dataset.from_tensors(np.zeros(2)).concatenate(
        w.Dataset.from_tensors(np.ones(3))
    ),
    "concatenate(endless)": lambda w: w.Dataset.range(2).concatenate(w.Dataset.counter()),
    "zip(two)": lambda w: w.Dataset.zip(w.Dataset.range(3), w.Dataset.range(10, 15)),
    "zip(tuple)": lambda w: w.Dataset.zip((w.Dataset.range(3), pairs(w))),
    "zip(nest)": lambda w: w.Dataset.zip({"a": w.Dataset.range(3), "b": (pairs(w), records(w))}),
    "zip(one)": lambda w: w.Dataset.zip(w.Dataset.range(3)),
    "zip(datasets=)": lambda w: w.Dataset.zip(datasets=(w.Dataset.range(2), w.Dataset.counter())),
    "cache": lambda w: w.Dataset.range(5).cache(),
    "cache(repeat)": lambda w: w.Dataset.range(5).cache().repeat(2),
    "prefetch": lambda w: w.Dataset.range(5).prefetch(2),
    "prefetch(AUTOTUNE)": lambda w: records(w).batch(4).prefetch(w.AUTOTUNE),
    "prefetch(0)": lambda w: w.Dataset.range(5).prefetch(0),
    "shuffle(1)": lambda w: w.Dataset.range(5).shuffle(1),
    "choose_from_datasets": lambda w: w.Dataset.choose_from_datasets(
        [w.Dataset.from_tensors(x).repeat(3) for x in (b"a", b"b", b"c")],
        w.Dataset.range(3).repeat(2),
    ),
    "choose_from_datasets(stops)": lambda w: w.Dataset.choose_from_datasets(
        [w.Dataset.range(2), w.Dataset.range(10, 20)],
        w.Dataset.from_tensor_slices(np.array([0, 1, 0, 0, 1])),
    ),
    "choose_from_datasets(goes on)": lambda w: w.Dataset.choose_from_datasets(
        [w.Dataset.range(2), w.Dataset.range(10, 20)],
        w.Dataset.from_tensor_slices(np.array([0, 1, 0, 0, 1])),
        stop_on_empty_dataset=False,
    ),
    "sample_from_datasets(sure)": lambda w: w.Dataset.sample_from_datasets(
        [w.Dataset.range(3), w.Dataset.range(10, 20)],
        weights=[0.0, 1.0],
        stop_on_empty_dataset=True,
    ),
    "sample_from_datasets(one)": lambda w: w.Dataset.sample_from_datasets([w.Dataset.range(3)]),
    "rejection_resample(sure)": lambda w: w.Dataset.range(8).rejection_resample(
        lambda x: w.cast(x % 2, "int32"), target_dist=[0.0, 1.0], initial_dist=[0.5, 0.5]
    ),
    "assert_cardinality": lambda w: (
        w.Dataset.range(8).filter(lambda x: x < 3).apply(w.experimental.assert_cardinality(3))
    ),
    "pad_to_cardinality": lambda w: records(w).apply(w.experimental.pad_to_cardinality(8)),
    "pad_to_cardinality(mask_key)": lambda w: w.Dataset.from_tensor_slices({"a": STRINGS}).apply(
        w.experimental.pad_to_cardinality(9, mask_key="real")
    ),
    "pad_to_cardinality(batched)": lambda w: (
        records(w).batch(2, drop_remainder=True).apply(w.experimental.pad_to_cardinality(5))
    ),
}

BATCHES: dict[str, Case] = {
    "batch": lambda w: w.Dataset.range(11).batch(4),
    "batch(drop)": lambda w: w.Dataset.range(11).batch(4, drop_remainder=True),
    "batch(nest)": lambda w: records(w).batch(4),
    "batch(twice)": lambda w: pairs(w).batch(2).batch(2),
    "batch(bytes)": lambda w: w.Dataset.from_tensor_slices(STRINGS).batch(4),
    "batch(bytes matrix)": lambda w: w.Dataset.from_tensor_slices(STRINGS.reshape(3, 2)).batch(2),
    "batch(empty)": lambda w: w.Dataset.range(0).batch(3),
    "batch(zero width)": lambda w: w.Dataset.from_tensor_slices(np.zeros((5, 0, 2))).batch(2),
    "batch(namedtuple)": lambda w: w.Dataset.from_tensor_slices(Point(*PAIRS)).batch(4),
    "batch(unequal)": lambda w: vectors(w).batch(2),
    "padded_batch": lambda w: vectors(w).padded_batch(3),
    "padded_batch(drop)": lambda w: vectors(w).padded_batch(3, drop_remainder=True),
    "padded_batch(shape)": lambda w: vectors(w).padded_batch(3, padded_shapes=[6]),
    "padded_batch(None)": lambda w: vectors(w).padded_batch(3, padded_shapes=[None]),
    "padded_batch(value)": lambda w: vectors(w).padded_batch(3, padding_values=np.int64(-1)),
    "padded_batch(too long)": lambda w: vectors(w).padded_batch(3, padded_shapes=[4]),
    "padded_batch(nest)": lambda w: (
        vectors(w)
        .map(lambda x: {"x": x, "n": w.length(x)})
        .padded_batch(4, padded_shapes={"x": [None], "n": []})
    ),
    "padded_batch(nest of values)": lambda w: (
        vectors(w)
        .map(lambda x: (x, w.length(x)))
        .padded_batch(4, ([7], []), padding_values=(np.int64(9), np.int32(0)))
    ),
    "padded_batch(matrix)": lambda w: (
        vectors(w).map(lambda x: x[None, :] + x[:, None]).padded_batch(4, padded_shapes=[None, 6])
    ),
    "padded_batch(scalars)": lambda w: w.Dataset.range(5).padded_batch(2),
    "padded_batch(bytes)": lambda w: (
        w.Dataset.from_tensor_slices(STRINGS).batch(4).padded_batch(2, padding_values=b"-")
    ),
    "ragged_batch": lambda w: vectors(w).ragged_batch(3),
    "ragged_batch(drop)": lambda w: vectors(w).ragged_batch(3, drop_remainder=True),
    "unbatch": lambda w: w.Dataset.range(7).batch(3).unbatch(),
    "unbatch(nest)": lambda w: records(w).batch(4).unbatch(),
    "unbatch(bytes)": lambda w: w.Dataset.from_tensor_slices(STRINGS).batch(4).unbatch(),
    "unbatch(several shapes)": lambda w: vectors(w).unbatch(),
    "rebatch": lambda w: w.Dataset.range(10).batch(4).rebatch(3),
    "rebatch(drop)": lambda w: w.Dataset.range(10).batch(4).rebatch(3, drop_remainder=True),
    "rebatch(list)": lambda w: w.Dataset.range(12).batch(4).rebatch([2, 1, 3]),
    "rebatch(list, zero)": lambda w: w.Dataset.range(6).batch(3).rebatch([2, 0, 1]),
    "rebatch(nest)": lambda w: records(w).batch(4).rebatch(5),
    "bucket_by_sequence_length": lambda w: vectors(w).bucket_by_sequence_length(
        w.length, bucket_boundaries=[2, 4], bucket_batch_sizes=[2, 3, 2]
    ),
    "bucket_by_sequence_length(drop)": lambda w: vectors(w).bucket_by_sequence_length(
        w.length, bucket_boundaries=[2, 4], bucket_batch_sizes=[2, 3, 2], drop_remainder=True
    ),
    "bucket_by_sequence_length(pad to boundary)": lambda w: (
        vectors(w)
        .filter(lambda x: w.length(x) < 5)
        .bucket_by_sequence_length(
            w.length,
            bucket_boundaries=[3, 6],
            bucket_batch_sizes=[2, 2, 2],
            padded_shapes=[None],
            pad_to_bucket_boundary=True,
            padding_values=np.int64(-1),
        )
    ),
    "bucket_by_sequence_length(no padding)": lambda w: vectors(w).bucket_by_sequence_length(
        w.length, bucket_boundaries=[1, 2, 3, 4, 5], bucket_batch_sizes=[2] * 6, no_padding=True
    ),
    "group_by_window(size)": lambda w: w.Dataset.range(10).group_by_window(
        key_func=lambda x: x % 2, reduce_func=lambda key, ds: ds.batch(3), window_size=3
    ),
    "group_by_window(size_func)": lambda w: w.Dataset.range(12).group_by_window(
        key_func=lambda x: x % 3,
        reduce_func=lambda key, ds: ds.batch(5).map(lambda x: (key, x)),
        window_size_func=lambda key: key + 1,
    ),
    "group_by_window(nest)": lambda w: pairs(w).group_by_window(
        key_func=lambda x, y: w.cast(y, "int64") % 2,
        reduce_func=lambda key, ds: ds.take(2),
        window_size=3,
    ),
}

NESTED: dict[str, Case] = {
    "flat_map": lambda w: w.Dataset.range(4).flat_map(w.Dataset.range),
    "flat_map(batches)": lambda w: pairs(w).batch(4).flat_map(lambda *xy: w.Dataset.from_tensor_slices(xy)),
    "flat_map(chain)": lambda w: w.Dataset.range(4).flat_map(
        lambda n: w.Dataset.range(n).map(lambda x: x + 10).batch(2)
    ),
    "interleave": lambda w: w.Dataset.range(3).interleave(
        lambda x: w.Dataset.from_tensors(x).repeat(3), cycle_length=2, block_length=2
    ),
    "interleave(wide)": lambda w: w.Dataset.range(5).interleave(lambda x: w.Dataset.range(x), cycle_length=3),
    "interleave(block)": lambda w: w.Dataset.range(1, 5).interleave(
        lambda x: w.Dataset.from_tensors(x).repeat(x), cycle_length=2, block_length=3
    ),
    "interleave(parallel)": lambda w: w.Dataset.range(6).interleave(
        lambda x: w.Dataset.from_tensors(x).repeat(4),
        cycle_length=3,
        block_length=2,
        num_parallel_calls=2,
        deterministic=True,
    ),
    "window": lambda w: w.Dataset.range(7).window(3),
    "window(shift)": lambda w: w.Dataset.range(5).window(3, 2),
    "window(stride)": lambda w: w.Dataset.range(10).window(3, shift=1, stride=2),
    "window(drop)": lambda w: w.Dataset.range(10).window(4, shift=3, drop_remainder=True),
    "window(shift over size)": lambda w: w.Dataset.range(10).window(2, shift=4),
    "window(tuple)": lambda w: pairs(w).window(4),
    "window(dict)": lambda w: records(w).window(4, drop_remainder=True),
    "window(flat_map batch)": lambda w: (
        w.Dataset.range(7).window(3, 1, 1, True).flat_map(lambda ds: ds.batch(3))
    ),
    "window(flat_map zip)": lambda w: (
        pairs(w).window(3, shift=2).flat_map(lambda a, b: w.Dataset.zip((a.batch(3), b.batch(3))))
    ),
    "window(map reduce)": lambda w: (
        w.Dataset.range(7).window(3).map(lambda ds: ds.reduce(np.int64(0), lambda s, x: s + x))
    ),
}

ERRORS: dict[str, Case] = {
    "error in map": lambda w: failing(w, 2),
    "error in map, first": lambda w: failing(w, 0),
    "error in map, last": lambda w: failing(w, 7),
    "errors in map, several": lambda w: failing(w, 0, 3, 4, 7),
    "error then map": lambda w: failing(w, 3).map(lambda x: x * 2),
    "error then filter": lambda w: failing(w, 2).filter(lambda x: x != 4),
    "error in filter": lambda w: w.Dataset.range(6).filter(lambda x: w.fail_if(x == 2, x) >= 0),
    "error then take": lambda w: failing(w, 1, 2).take(4),
    "error then enumerate": lambda w: failing(w, 2).enumerate(),
    "error then zip": lambda w: w.Dataset.zip(failing(w, 2), w.Dataset.counter()),
    "error then prefetch": lambda w: failing(w, 2, 3).prefetch(2),
    "error then repeat": lambda w: failing(w, 2, size=4).repeat(2),
    "error then concatenate": lambda w: failing(w, 2, size=4).concatenate(w.Dataset.range(3)),
    "error then take_while": lambda w: failing(w, 2).take_while(lambda x: x < 5),
    "error then ignore_errors": lambda w: failing(w, 0, 2, 3).ignore_errors(),
    "error then flat_map": lambda w: failing(w, 2, size=4).flat_map(w.Dataset.range),
    "error inside flat_map": lambda w: w.Dataset.range(3).flat_map(lambda x: failing(w, 1, size=3)),
    "error then scan": lambda w: failing(w, 2).scan(np.int64(0), lambda s, x: (s + x, s + x)),
    "error then padded_batch": lambda w: failing(w, 2).padded_batch(2),
    "error in parallel map": lambda w: w.Dataset.range(8).map(
        lambda x: w.fail_if(x == 3, x), num_parallel_calls=2
    ),
    "ignore_errors of nothing": lambda w: w.Dataset.range(3).ignore_errors(),
}

CASES: dict[str, Case] = {
    **SOURCES,
    **FUNCTIONS,
    **STREAMS,
    **BATCHES,
    **NESTED,
    **ERRORS,
}

LOOSE = {
    "from_tensor_slices(list)",
    "from_tensor_slices(floats)",
    "from_tensor_slices(tuple of lists)",
    "map(python int)",
    "map(python float)",
    "unique",
    "range(float)",
}

WRONG: dict[str, Case] = {
    "range()": lambda w: w.Dataset.range(),
    "range(step 0)": lambda w: w.Dataset.range(1, 5, 0),
    "from_tensor_slices(unequal)": lambda w: w.Dataset.from_tensor_slices((np.zeros(3), np.zeros(4))),
    "from_tensor_slices(scalar)": lambda w: w.Dataset.from_tensor_slices(np.int64(3)),
    "batch(0)": lambda w: w.Dataset.range(3).batch(0),
    "batch(-1)": lambda w: w.Dataset.range(3).batch(-1),
    "batch(text)": lambda w: w.Dataset.range(3).batch("two"),
    "padded_batch(0)": lambda w: w.Dataset.range(3).padded_batch(0),
    "padded_batch(structure)": lambda w: w.Dataset.range(3).padded_batch(2, padded_shapes=([], [])),
    "padded_batch(rank)": lambda w: w.Dataset.from_tensor_slices(np.zeros((3, 2))).padded_batch(
        2, padded_shapes=[None, None]
    ),
    "padded_batch(value's dtype)": lambda w: w.Dataset.range(3).padded_batch(2, padding_values=np.float32(0)),
    "rebatch(empty list)": lambda w: w.Dataset.range(3).batch(2).rebatch([]),
    "unbatch(scalars)": lambda w: w.Dataset.range(3).unbatch(),
    "shuffle(0)": lambda w: w.Dataset.range(3).shuffle(0),
    "shard(0, 0)": lambda w: w.Dataset.range(3).shard(0, 0),
    "shard(2, 2)": lambda w: w.Dataset.range(3).shard(2, 2),
    "shard(2, -1)": lambda w: w.Dataset.range(3).shard(2, -1),
    "window(0)": lambda w: w.Dataset.range(3).window(0),
    "window(shift 0)": lambda w: w.Dataset.range(3).window(2, shift=0),
    "window(stride 0)": lambda w: w.Dataset.range(3).window(2, stride=0),
    "interleave(cycle 0)": lambda w: w.Dataset.range(3).interleave(w.Dataset.range, cycle_length=0),
    "interleave(block 0)": lambda w: w.Dataset.range(3).interleave(
        w.Dataset.range, cycle_length=1, block_length=0
    ),
    "zip()": lambda w: w.Dataset.zip(),
    "zip(both)": lambda w: w.Dataset.zip(w.Dataset.range(2), datasets=(w.Dataset.range(2),)),
    "zip(list)": lambda w: w.Dataset.zip([w.Dataset.range(2), w.Dataset.range(2)]),
    "zip(number)": lambda w: w.Dataset.zip(3),
    "concatenate(structure)": lambda w: w.Dataset.range(3).concatenate(pairs(w)),
    "concatenate(dtype)": lambda w: w.Dataset.range(3).concatenate(w.Dataset.range(3, output_type="int32")),
    "flat_map(no dataset)": lambda w: w.Dataset.range(3).flat_map(lambda x: x),
    "filter(no bool)": lambda w: w.Dataset.range(3).filter(lambda x: x),
    "filter(vector)": lambda w: pairs(w).filter(lambda x, y: x > 0),
    "group_by_window(neither)": lambda w: w.Dataset.range(3).group_by_window(lambda x: x, lambda k, ds: ds),
    "group_by_window(both)": lambda w: w.Dataset.range(3).group_by_window(
        lambda x: x, lambda k, ds: ds, window_size=2, window_size_func=lambda k: k
    ),
    "group_by_window(size 0)": lambda w: w.Dataset.range(3).group_by_window(
        lambda x: x, lambda k, ds: ds, window_size=0
    ),
    "bucket_by_sequence_length(sizes)": lambda w: vectors(w).bucket_by_sequence_length(
        w.length, bucket_boundaries=[2, 4], bucket_batch_sizes=[2, 3]
    ),
    "sample_from_datasets(none)": lambda w: w.Dataset.sample_from_datasets([]),
    "sample_from_datasets(weights)": lambda w: w.Dataset.sample_from_datasets(
        [w.Dataset.range(2), w.Dataset.range(2)], weights=[1.0]
    ),
    "choose_from_datasets(none)": lambda w: w.Dataset.choose_from_datasets([], w.Dataset.range(2)),
    "choose_from_datasets(choice)": lambda w: w.Dataset.choose_from_datasets(
        [w.Dataset.range(2)], w.Dataset.from_tensor_slices(np.array([0.5]))
    ),
    "apply(no dataset)": lambda w: w.Dataset.range(2).apply(lambda ds: 3),
    "map(unknown argument)": lambda w: w.Dataset.range(2).map(lambda x: x, workers=2),
    "map(no function)": lambda w: w.Dataset.range(2).map(3),
    "map(arity)": lambda w: pairs(w).map(lambda x: x),
    "get_single_element(none)": lambda w: w.Dataset.range(0).get_single_element(),
    "get_single_element(two)": lambda w: w.Dataset.range(2).get_single_element(),
}
"""Calls that both refuse. Penstock refuses all of them before a run has made anything."""
