"""Which element a user's function is at work on: what its randomness is keyed by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from numpy.typing import NDArray

from penstock.blocks.trace import Trace
from penstock.errors import ArgumentError
from penstock.kernels.bits import mix


class Scope:
    """One call of a user's function: the op's key, the element's number, and its draws so far."""

    __slots__ = ("calls", "key", "numbers", "trace")

    def __init__(self, key: int, numbers: int | NDArray[np.int64], trace: Trace | None = None) -> None:
        self.key = key
        self.numbers = numbers
        self.trace = trace
        """The call over a block whose rows have these numbers; None for one element."""
        self.calls = 0

    def next_key(self) -> int:
        """The key of the next draw: each within one call has its own."""
        self.calls += 1
        return mix(self.key, self.calls)


_current: ContextVar[Scope | None] = ContextVar("penstock_random_scope", default=None)


@contextmanager
def drawing_for(key: int, numbers: int | NDArray[np.int64], trace: Trace | None = None) -> Iterator[None]:
    """Let `ps.random` draw for an element, or for a block's elements, while a function is called.

    >>> import penstock as ps
    >>> with drawing_for(key=1, numbers=7):
    ...     first = ps.random.uniform()
    >>> with drawing_for(key=1, numbers=7):
    ...     bool(ps.random.uniform() == first)
    True
    """
    token = _current.set(Scope(key, numbers, trace))
    try:
        yield
    finally:
        _current.reset(token)


def enter(scope: Scope | None) -> Scope | None:
    """Make `scope` the current one, and give the one before: `drawing_for` without its cost."""
    before = _current.get()
    _current.set(scope)
    return before


def scope_for(seed: int | None) -> Scope:
    """The scope of a draw: the current one, or with a `seed` outside any, one of its own."""
    scope = _current.get()
    if scope is not None:
        return scope
    if seed is None:
        raise ArgumentError(
            "ps.random: expected to be called by a function that a dataset runs, as in "
            "ds.map(function), where the element tells which random numbers to draw. "
            "Outside of one, give a seed, to ps.random and to the random functions of ps.image: "
            "ps.random.uniform(seed=1), ps.image.random_flip_left_right(image, seed=1)."
        )
    return Scope(mix(seed), 0)
