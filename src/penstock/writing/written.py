"""What was written."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.memory.sizes import show_bytes


@dataclass(frozen=True)
class Written:
    """A data set on disk: its folder and its files in order, how much is in them, and how long it took.

    >>> Written("data", ("data/data-00000-of-00001.tfrecord",), 1000, 24_000, 0.5)
    Written('data': 1,000 elements in 1 shard, 23.4 KiB, 0.50 s)
    """

    directory: str
    shards: tuple[str, ...]
    elements: int
    bytes: int
    seconds: float

    def __repr__(self) -> str:
        files = "1 shard" if len(self.shards) == 1 else f"{len(self.shards):,} shards"
        return (
            f"Written({self.directory!r}: {self.elements:,} elements in {files}, {show_bytes(self.bytes)}, "
            f"{self.seconds:.2f} s)"
        )
