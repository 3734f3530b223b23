"""How the streams of several readers are shared out over another number of readers."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any


@dataclass(frozen=True)
class Share:
    """A part of what is left to reader `index` of `num_shards`: every `step`-th element from `offset` on."""

    num_shards: int
    index: int
    step: int
    offset: int


def shares(readers: int, num_shards: int, index: int) -> list[Share]:
    """What reader `index` of `num_shards` gets of what is left to `readers` readers.

    Every element goes to one of the new readers, and each of these gets as much as the others.

    >>> shares(4, 2, 0)
    [Share(num_shards=4, index=0, step=1, offset=0), Share(num_shards=4, index=2, step=1, offset=0)]
    >>> shares(2, 4, 3)
    [Share(num_shards=2, index=1, step=2, offset=1)]
    """
    parts = num_shards // gcd(readers, num_shards)
    all_of_them = [Share(readers, one, parts, part) for part in range(parts) for one in range(readers)]
    return all_of_them[index::num_shards]


def said(share: Share, state: Any) -> dict[str, Any]:
    """A share, with the state of the reader, as plain data."""
    return {**vars(share), "of": state}


def share_of(part: dict[str, Any]) -> Share:
    """The share that was said so."""
    return Share(part["num_shards"], part["index"], part["step"], part["offset"])
