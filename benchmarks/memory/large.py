"""Pipelines at 64 MiB whose elements grow, or are large from the start."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.memory.pipeline import MIB, Array, Pipeline, Words, mark

BUDGET = 64 * MIB
SMALL, GROWING, LARGE = 4000, 400, 300
LARGE_ROWS = 48


def growing_rows() -> Iterator[Array]:
    """Make elements of 1 KiB, then ever larger ones, then elements of 4 MiB."""
    for number in range(SMALL + GROWING + LARGE):
        grown = min(max(number - SMALL, 0) / GROWING, 1.0)
        yield np.full(int(1024 * 4096**grown), mark(number), np.uint8)


def growing(words: Words) -> Any:
    """Let the library choose how many to hold ready."""
    return words.generated(growing_rows, (None,), np.uint8).prefetch(words.autotune)


def growing_mapped(words: Words) -> Any:
    """Let the library choose how many calls to make at once, and how many elements to hold ready."""
    rows = words.generated(growing_rows, (None,), np.uint8)
    return rows.map(words.same, num_parallel_calls=words.autotune).prefetch(words.autotune)


def parallel(words: Words) -> Any:
    """Make elements of 32 MiB, 16 calls at a time."""
    numbers, make = words.made(LARGE_ROWS, 32 * MIB)
    return numbers.map(make, num_parallel_calls=16)


PIPELINES = (
    Pipeline(
        "prefetch_growing",
        "`prefetch(AUTOTUNE)`, elements that grow from 1 KiB to 4 MiB, then 5 ms a step",
        BUDGET,
        SMALL + GROWING + LARGE,
        growing,
        step=0.005,
        quick=SMALL,
    ),
    Pipeline(
        "map_growing",
        "`map(AUTOTUNE)`, `prefetch(AUTOTUNE)`, elements that grow from 1 KiB to 4 MiB, then 5 ms a step",
        BUDGET,
        SMALL + GROWING + LARGE,
        growing_mapped,
        step=0.005,
        quick=SMALL,
    ),
    Pipeline(
        "parallel_map",
        "`map(num_parallel_calls=16)` of 32 MiB elements, 10 ms a step",
        BUDGET,
        LARGE_ROWS,
        parallel,
        step=0.01,
    ),
)
