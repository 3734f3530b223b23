"""Arrays that come from users' code: kept as they are if nobody else can reach them, else copied.

A generator may fill one buffer again and again, a function may return a row of the user's own table:
what the pipeline keeps must be its own. A fresh array is, and is not copied unless it is small.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALL = 2048
"""Arrays of so few bytes are copied at once: to find out whose they are takes longer."""
SLACK = 1024
"""A base may be twice its view and so many bytes: a smaller view would keep a large array alive."""


def own(leaves: list[Any], came: Sequence[NDArray[Any]] = ()) -> None:
    """Copy, in place, those leaves whose memory others can reach, but for views of what `came`.

    The caller drops its own references to the element first: each one costs a copy.
    """
    for i in range(len(leaves)):
        kind = type(leaves[i])
        if kind is np.ndarray:
            if leaves[i].nbytes <= SMALL or not (_is_own(leaves, i) or _is_view(leaves[i], came)):
                leaves[i] = leaves[i].copy()
        elif kind is np.void and leaves[i].base is not None:
            leaves[i] = leaves[i].copy()


def _is_own(leaves: list[Any], i: int) -> bool:
    alone = _references(leaves, i) <= _ALONE
    if leaves[i].base is None:
        return alone and leaves[i].flags.owndata
    return _owns_base(leaves[i], alone=alone)


def _is_view(leaf: NDArray[Any], came: Sequence[NDArray[Any]]) -> bool:
    return any(
        buffer.nbytes <= 2 * leaf.nbytes + SLACK
        and leaf.flags.writeable <= buffer.flags.writeable
        and (leaf.base is buffer or leaf.base is buffer.base)
        and np.may_share_memory(leaf, buffer)
        for buffer in came
    )


def _owns_base(leaf: NDArray[Any], *, alone: bool) -> bool:
    most = 2 * leaf.nbytes + SLACK
    base: Any = leaf.base
    if type(base) is np.ndarray and base.flags.owndata:
        del base  # a reference more
        return alone and leaf.base.nbytes <= most and _base_references(leaf) <= _BASE_ALONE  # type: ignore[union-attr]
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, bytes) and len(base) <= most  # nobody can change those


def _references(leaves: list[Any], i: int) -> int:
    return sys.getrefcount(leaves[i])


def _base_references(leaf: NDArray[Any]) -> int:
    return sys.getrefcount(leaf.base)


def _counted() -> tuple[int, int]:
    """What is counted for an array that only a list has, and for one that only its view has.

    It differs between versions of Python, and with what the interpreter has learned of the code.
    """
    fresh = [_references([np.empty(1)], 0) for _ in range(100)]
    viewed = [_base_references(np.empty(2)[:1]) for _ in range(100)]
    return min(fresh), min(viewed)


_ALONE, _BASE_ALONE = _counted()
