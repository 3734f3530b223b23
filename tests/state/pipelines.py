"""Pipelines that are told in plain data, so that another process can declare the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps

Told = list[list[Any]]
"""A source, and ops after it: each its name and its arguments."""


def total(x: Any) -> int:
    return int(np.sum(x))


def double(x: Any) -> Any:
    return x * 2 + 1


def noisy(x: Any) -> Any:
    return x + (ps.random.uniform(()) * 100).astype(np.int64)


def branchy(x: Any) -> Any:
    return x + 1 if total(x) % 2 else x * 3


def picky(x: Any) -> Any:
    if total(x) % 7 == 3:
        raise ValueError("not this one")
    return x


def wanted(x: Any) -> bool:
    return total(x) % 3 != 0


def added(base: int, x: Any) -> Any:
    return x + base


def opened(x: Any) -> ps.Dataset:
    return ps.Dataset.range(total(x) % 4 + 1).map(partial(added, total(x) % 50)).shuffle(2)


def summed(state: Any, x: Any) -> Any:
    new = state + total(x) % 5
    return new, x + new


def counted(count: int) -> Iterator[Any]:
    return iter(np.arange(count))


def number(text: bytes) -> Any:
    return np.int64(int(text))


def thirds(x: Any) -> Any:
    return x % 3


def batched(size: int, key: Any, rows: ps.Dataset) -> ps.Dataset:
    return rows.batch(size)


def gathered(size: int, rows: ps.Dataset) -> ps.Dataset:
    return rows.batch(size)


def source(told: list[Any], folder: Path) -> ps.Dataset:
    kind, count = told
    if kind == "range":
        return ps.Dataset.range(count)
    if kind == "slices":
        return ps.Dataset.from_tensor_slices(np.arange(count) * 3)
    if kind == "generator":
        return ps.Dataset.from_generator(counted, args=(count,))
    if kind == "lines":
        return ps.TextLineDataset([str(folder / f"{i}.txt") for i in range(3)]).take(count).map(number)
    assert kind == "records"
    return ps.TFRecordDataset([str(folder / f"{i}.tfrecord") for i in range(3)]).take(count).map(number)


def write_files(folder: Path) -> None:
    for i in range(3):
        numbers = range(i * 20, i * 20 + 20)
        (folder / f"{i}.txt").write_text("".join(f"{n}\n" for n in numbers))
        with ps.io.TFRecordWriter(str(folder / f"{i}.tfrecord")) as writer:
            for n in numbers:
                writer.write(str(n).encode())


def declared(told: Told, folder: Path) -> ps.Dataset:
    """The dataset that was told."""
    ds = source(told[0], folder)
    for name, *args in told[1:]:
        ds = then(ds, name, *args)
    return ds


def then(ds: ps.Dataset, name: str, *args: Any) -> ps.Dataset:
    maps = {"double": double, "noisy": noisy, "branchy": branchy, "picky": picky}
    match name:
        case "map":
            return ds.map(maps[args[0]], num_parallel_calls=args[1])
        case "filter":
            return ds.filter(wanted)
        case "scan":
            return ds.scan(np.int64(0), summed)
        case "flat_map":
            return ds.flat_map(opened)
        case "interleave":
            return ds.interleave(
                opened, cycle_length=args[0], block_length=args[1], num_parallel_calls=args[2]
            )
        case "sample":
            other = ps.Dataset.range(500, 540)
            return ps.Dataset.sample_from_datasets([ds, other], [0.6, 0.4], stop_on_empty_dataset=args[0])
        case "concatenate":
            return ds.concatenate(ps.Dataset.range(900, 910))
        case "zip":
            return ps.Dataset.zip(ds, ps.Dataset.range(10_000).shuffle(5)).map(lambda x, y: x + y)
        case "group":
            return ds.group_by_window(thirds, partial(batched, args[0]), window_size=args[0])
        case "window":
            return ds.window(args[0], shift=args[1]).flat_map(partial(gathered, args[0]))
        case _:
            return getattr(ds, name)(*args)  # type: ignore[no-any-return]


def events(it: Any, limit: int) -> list[str]:
    """What comes, in words: each element, or that it failed."""
    out: list[str] = []
    while len(out) < limit:
        try:
            element = next(it)
        except StopIteration:
            break
        except ps.errors.ElementError:
            out.append("failed")
        else:
            out.append(f"{element.dtype}{element.tolist()}")
    return out
