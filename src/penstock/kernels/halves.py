"""How the two halves of a large piece of work are done: one after the other, or side by side."""

from __future__ import annotations

from collections.abc import Callable

Half = Callable[[], None]
Both = Callable[[Half, Half], None]
"""Does two halves that touch nothing of each other's."""


def one_by_one(first: Half, second: Half) -> None:
    """One half after the other."""
    first()
    second()
