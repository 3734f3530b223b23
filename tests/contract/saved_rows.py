"""Elements of every kind that can be saved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import penstock as ps


class Point(NamedTuple):
    """A named tuple of the user's."""

    x: Any
    y: Any


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Dense, bytes, text and ragged leaves, of many dtypes, in a nest of dicts, tuples and named tuples."""
    random = np.random.default_rng(7)
    for i in range(count):
        yield {
            "number": np.int32(i),
            3: (np.bool_(i % 2), np.float16(i / 3), np.complex64(complex(i, -i))),
            "when": Point(np.datetime64(i, "ns"), np.timedelta64(i, "h")),
            "text": "äö" * (i % 4),
            "bytes": random.bytes(i % 9),
            "words": np.array([f"w{i}", "", "x" * (i % 5)], object),
            "ragged": random.integers(0, 99, (i % 3, 2), dtype=np.uint16),
            "dense": random.random((2, 3)),
            "wide": random.random(15),
            "none": np.zeros((2, 0), np.int8),
            "record": np.array([(i, i / 2)], [("a", "i4"), ("b", "f8")]),
        }


def every_kind(count: int = 200) -> ps.Dataset:
    """These elements as a dataset."""
    return ps.Dataset.from_generator(rows, args=(count,))
