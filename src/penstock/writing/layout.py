"""Which records go into which file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ArgumentError
from penstock.graph import checks
from penstock.graph.op import INFINITE, UNKNOWN
from penstock.memory.sizes import show_bytes
from penstock.options import parse_bytes
from penstock.site import user_site

SHARD_BYTES = 128 << 20
"""About so many bytes of records make a file, where nobody said how many files there are to be."""
FILES = re.compile(r"data-\d{5,}(-of-\d{5,})?\.tfrecord")
"""The names of the files."""


@dataclass(frozen=True)
class Layout:
    """Either `shards` files of `length` records in all, or files of about `shard_bytes` each.

    Both depend on the records alone, so that a second run cuts where the first one did.
    """

    shards: int | None = None
    length: int | None = None
    shard_bytes: int | None = None

    def name(self, number: int) -> str:
        """What the file of that number is called."""
        of = "" if self.shards is None else f"-of-{self.shards:05}"
        return f"data-{number:05}{of}.tfrecord"

    def quota(self, number: int) -> int | None:
        """How many records that file has; None where their sizes decide."""
        if self.shards is None or self.length is None:
            return None
        return self.length * (number + 1) // self.shards - self.length * number // self.shards

    def fitting(self, written: int, sizes: NDArray[np.int64]) -> int:
        """How many frames of these sizes still go into a file that has so many bytes of them."""
        assert self.shard_bytes is not None
        ends = written + np.cumsum(sizes)
        fit = int(np.searchsorted(ends, self.shard_bytes, side="right"))
        return fit if written else max(fit, 1)

    def __str__(self) -> str:
        if self.shards is None:
            return f"shards of {show_bytes(self.shard_bytes or 0)}"
        return f"{self.shards} shards of {self.length} elements in all"


def layout_of(shards: Any, shard_bytes: Any, cardinality: int) -> Layout:
    """The layout that the user asked for."""
    call = "write_tfrecord"
    if cardinality == INFINITE:
        raise ArgumentError(
            f"{call} at {user_site()}: expected a dataset that ends, got an endless one. "
            f"End it with take(n) or repeat(n)."
        )
    if shards is None:
        size = parse_bytes(SHARD_BYTES if shard_bytes is None else shard_bytes, f"{call}(shard_bytes=)")
        return Layout(shard_bytes=size)
    count = checks.count(shards, f"{call}(shards=)", least=1)
    if shard_bytes is not None:
        raise ArgumentError(
            f"{call} at {user_site()}: expected shards= or shard_bytes=, got both. "
            f"Say how many files there are to be, or how large they are."
        )
    if cardinality == UNKNOWN:
        raise ArgumentError(
            f"{call}(shards=) at {user_site()}: expected a dataset of known length, to share it out to "
            f"{count} files in order. Say its length with ds.apply(ps.assert_cardinality(n)), or how large "
            f"the files are to be with shard_bytes= instead of shards=."
        )
    return Layout(shards=count, length=cardinality)
