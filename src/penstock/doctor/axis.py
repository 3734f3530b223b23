"""What growth is counted by."""

from __future__ import annotations

from penstock.doctor.book import Book
from penstock.doctor.findings import Axis
from penstock.doctor.steps import sources

DISTINCT = 10
"""An axis that has fewer different values over a stretch is too coarse."""


def axis_of(book: Book, span: range) -> Axis:
    """Steps of a framework, or else the variable of a loop, or else seconds."""
    ranked = [source.name for source in sources() if source.name in book.steps]
    loops = [name for name in book.steps if name.startswith("loop ")]
    for name in ranked + loops:
        column = book.steps[name]
        if len({column[i] for i in span}) >= DISTINCT and column[span.start] >= 0:
            title = name if name in ranked else f"rounds of the loop over `{name.rpartition(' ')[2]}`"
            stride = book.strides.get(name, 1)
            return Axis(title, "a step", tuple(steps / stride for steps in column))
    return Axis("seconds", "a second", tuple(book.times))
