"""What a framework's feed needs of a run: its ledger, its pool, and where it stood at an element."""

from __future__ import annotations

from typing import Any

from penstock.engine.iterator import Iterator
from penstock.engine.run import Run

Mark = tuple[Any, int]
"""Where an iteration stood: the state of its ops, and the number of elements handed out."""


def run_of(elements: Iterator) -> Run:
    """The run of an iteration."""
    return elements._run


def mark_of(elements: Iterator) -> Mark:
    """Where an iteration stands now, before it is known whether anybody will ask."""
    return elements.mark()
