"""Streams with failing elements, and what comes out of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import penstock as ps

FAILED = "failed"


def _refuse(bad: tuple[int, ...], x: Any) -> Any:
    if int(x) in bad:
        raise ValueError(f"{x} is bad")
    return x


def failing(size: int, *bad: int) -> ps.Dataset:
    """The numbers up to `size`, of which some fail."""
    return ps.Dataset.range(size).map(partial(_refuse, bad))


def events(ds: ps.Dataset, limit: int = 60, **options: Any) -> list[Any]:
    """Each element in plain Python, or `FAILED` where it failed and the next one was asked for."""
    out: list[Any] = []
    with ds.with_options(ps.Options(**options)).iterate(seed=7, epoch=0) as it:
        while len(out) < limit:
            try:
                out.append(plain(next(it)))
            except StopIteration:
                break
            except ps.errors.ElementError:
                out.append(FAILED)
    return out


def outcomes(ds: ps.Dataset) -> list[Any]:
    """The elements of a dataset, with the errors in their places."""
    found: list[Any] = []
    with ds.iterate() as it:
        while True:
            try:
                found.append(next(it))
            except StopIteration:
                return found
            except ps.errors.ElementError as error:
                found.append(error)


def plain(element: Any) -> Any:
    """An element as Python's own numbers and lists."""
    if isinstance(element, dict):
        return {key: plain(part) for key, part in element.items()}
    if isinstance(element, tuple):
        parts = [plain(part) for part in element]
        return type(element)(*parts) if hasattr(element, "_fields") else tuple(parts)
    return element.tolist() if isinstance(element, np.ndarray | np.generic) else element
