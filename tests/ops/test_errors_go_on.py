"""Through every op, a failing element costs one `next`, and the stream goes on after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.streams import FAILED, events, failing

Wrap = Callable[[ps.Dataset], ps.Dataset]
ALL = [0, 1, FAILED, 3, 4, 5]

THROUGH: dict[str, tuple[Wrap, list[Any]]] = {
    "apply": (lambda ds: ds.apply(lambda same: same), ALL),
    "assert_cardinality": (lambda ds: ds.apply(ps.assert_cardinality(5)), ALL),
    "batch": (lambda ds: ds.batch(2), [[0, 1], FAILED, [3, 4], [5]]),
    "concatenate": (lambda ds: ds.concatenate(ps.Dataset.range(2)), [*ALL, 0, 1]),
    "enumerate": (
        lambda ds: ds.enumerate(),
        [(0, 0), (1, 1), FAILED, (3, 3), (4, 4), (5, 5)],
    ),
    "filter": (lambda ds: ds.filter(lambda x: x != 3), [0, 1, FAILED, 4, 5]),
    "ignore_errors": (lambda ds: ds.ignore_errors(), [0, 1, 3, 4, 5]),
    "map": (lambda ds: ds.map(lambda x: x + 1), [1, 2, FAILED, 4, 5, 6]),
    "prefetch": (lambda ds: ds.prefetch(2), ALL),
    "rebatch": (lambda ds: ds.map(_twice).rebatch(4), [[0, 0, 1, 1], FAILED, [3, 3, 4, 4], [5, 5]]),
    "repeat": (lambda ds: ds.repeat(2), [*ALL, *ALL]),
    "scan": (lambda ds: ds.scan(0, lambda s, x: (s + x, s + x)), [0, 1, FAILED, 4, 8, 13]),
    "shard": (lambda ds: ds.shard(2, 1), [1, FAILED, 3, 5]),
    "skip": (lambda ds: ds.skip(1), [1, FAILED, 3, 4, 5]),
    "take": (lambda ds: ds.take(3), [0, 1, FAILED, 3]),
    "take_while": (lambda ds: ds.take_while(lambda x: x < 4), [0, 1, FAILED, 3]),
    "unbatch": (
        lambda ds: ds.map(_twice).unbatch(),
        [0, 0, 1, 1, FAILED, 3, 3, 4, 4, 5, 5],
    ),
    "unique": (lambda ds: ds.unique(), ALL),
    "zip": (
        lambda ds: ps.Dataset.zip(ds, ps.Dataset.counter()),
        [(0, 0), (1, 1), FAILED, (3, 3), (4, 4), (5, 5)],
    ),
}


def _twice(x: Any) -> Any:
    return np.array([int(x)] * 2)


@pytest.mark.parametrize("rows", [1, 2, 3, 64, None])
@pytest.mark.parametrize("name", THROUGH)
def test_given_a_failing_element_then_the_stream_goes_on_after_it(name: str, rows: int | None) -> None:
    wrap, expected = THROUGH[name]
    assert events(wrap(failing(6, 2)), block_rows=rows) == expected


@pytest.mark.parametrize("name", THROUGH)
def test_given_failures_at_both_ends_then_they_come_in_their_place(name: str) -> None:
    wrap, _ = THROUGH[name]
    first = events(wrap(failing(6, 0)), block_rows=3)
    assert (first[0] == FAILED) == (name != "ignore_errors")
    last = events(wrap(failing(6, 5)), block_rows=3)
    reads_the_last = name not in ("ignore_errors", "take", "take_while")
    assert (FAILED in last) == reads_the_last
