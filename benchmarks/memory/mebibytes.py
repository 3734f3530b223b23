"""Pipelines over 600 elements of 1 MiB, made by a generator or a map, at 16 MiB."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.memory.pipeline import MIB, Array, Pipeline, Words, mark

ROWS = 600
BUDGET = 16 * MIB


def rows() -> Iterator[Array]:
    """Make the elements, one at a time."""
    for number in range(ROWS):
        yield np.full(MIB, mark(number), np.uint8)


def source(words: Words) -> Any:
    """Write the source as a generator."""
    return words.generated(rows, (MIB,), np.uint8)


def mapped(words: Words) -> Any:
    """Write the source as numbers and a map."""
    numbers, make = words.made(ROWS, MIB)
    return numbers.map(make)


def windows(words: Words) -> Any:
    """Windows of 300, walked one after the other."""
    return source(words).window(300).flat_map(lambda window: window)


def groups(words: Words) -> Any:
    """Four groups of 100, each handed on element by element."""
    return source(words).group_by_window(words.key, lambda _, group: group, window_size=100)


def batched_groups(words: Words) -> Any:
    """Four groups of 100, each of which becomes one element of 100 MiB."""
    return source(words).group_by_window(words.key, lambda _, group: group.batch(100), window_size=100)


PIPELINES = (
    Pipeline(
        "shuffle",
        "`shuffle(400)` of 1 MiB elements",
        BUDGET,
        ROWS,
        lambda words: source(words).shuffle(400),
    ),
    Pipeline(
        "shuffle_mapped",
        "`shuffle(400)`, elements made by a map",
        BUDGET,
        ROWS,
        lambda words: mapped(words).shuffle(400),
    ),
    Pipeline(
        "cache",
        "`cache()` of 600 x 1 MiB, two epochs",
        BUDGET,
        ROWS,
        lambda words: source(words).cache().repeat(2),
        epochs=2,
    ),
    Pipeline(
        "cache_mapped",
        "`cache()`, elements made by a map",
        BUDGET,
        ROWS,
        lambda words: mapped(words).cache().repeat(2),
        epochs=2,
    ),
    Pipeline(
        "prefetch",
        "`prefetch(400)`, consumer of 3 ms a step",
        BUDGET,
        ROWS,
        lambda words: source(words).prefetch(400),
        step=0.003,
    ),
    Pipeline("window", "`window(300)`", BUDGET, ROWS, windows),
    Pipeline("group_by_window", "`group_by_window`, 4 keys x 100", BUDGET, ROWS, groups),
    Pipeline(
        "group_by_window_batched",
        "`group_by_window`, 4 keys x 100, `batch(100)`: 100 MiB an element",
        BUDGET,
        ROWS,
        batched_groups,
        refused=True,
    ),
)
