"""Whole numbers and choices: `integers`, `bernoulli` and `choice`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock.blocks.trace import trusted
from penstock.errors import ArgumentError
from penstock.kernels.bits import below, unit
from penstock.random.draws import Draw, Shape


@trusted
def integers(
    low: Any,
    high: Any = None,
    shape: Shape = (),
    dtype: Any = np.int64,
    seed: int | None = None,
) -> Any:
    """Whole numbers from `low` up to, but not, `high`; with one bound, from 0 up to it.

    >>> import penstock as ps
    >>> ds = ps.Dataset.range(4).map(lambda x: ps.random.integers(10, 20))
    >>> all(10 <= x < 20 for x in ds)
    True
    """
    first, end = (0, low) if high is None else (low, high)
    first, end = operator.index(first), operator.index(end)
    what = "ps.random.integers"
    if end <= first:
        raise ArgumentError(f"{what}: expected high above low, got {first} and {end}.")
    draw = Draw(shape, seed, what)
    kind = np.dtype(dtype)
    values = below(draw.bits, end - first)
    return draw.finish((values + first).astype(kind))


@trusted
def bernoulli(p: Any = 0.5, shape: Shape = (), seed: int | None = None) -> Any:
    """True with probability `p`.

    >>> import penstock as ps
    >>> ds = ps.Dataset.range(4).map(lambda x: ps.random.bernoulli(1.0))
    >>> all(ds)
    True
    """
    draw = Draw(shape, seed, "ps.random.bernoulli")
    if isinstance(p, int | float):
        return draw.finish(unit(draw.bits) < p)
    return draw.finish(unit(draw.bits)) < p


@trusted
def choice(values: Any, shape: Shape = (), seed: int | None = None) -> Any:
    """Entries of `values`, each as likely, drawn with replacement; a number n means 0 to n - 1.

    >>> import penstock as ps
    >>> ds = ps.Dataset.range(4).map(lambda x: ps.random.choice([3, 5]))
    >>> set(map(int, ds)) <= {3, 5}
    True
    """
    table = np.arange(values) if isinstance(values, int | np.integer) else np.asarray(values)
    if table.ndim != 1 or not len(table):
        raise ArgumentError(
            f"ps.random.choice(values=): expected a list of at least one value, got {values!r}."
        )
    draw = Draw(shape, seed, "ps.random.choice")
    return draw.finish(table[below(draw.bits, len(table))])
