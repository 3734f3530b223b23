"""What growth is counted by."""

from __future__ import annotations

from penstock.doctor.book import Book
from penstock.doctor.findings import Axis
from penstock.doctor.steps import sources

DISTINCT = 10
"""An axis that has fewer different values over a stretch is too coarse."""
FINE = 0.5
"""The outermost loop that has another value at so many of the moments is the one; epochs may be too long."""


def axis_of(book: Book, span: range) -> Axis:
    """Steps of a framework, or else the variable of a loop, or else seconds."""
    ranked = [source.name for source in sources() if source.name in book.steps]
    for name in ranked:
        if _values(book, name, span) >= DISTINCT:
            return _axis(book, name, name)
    loops = [name for name in book.steps if name.startswith("loop ") and name not in book.loose]
    known = {name: count for name in loops if (count := _values(book, name, span)) >= DISTINCT}
    if not known:
        return Axis("seconds", "a second", tuple(book.times), "seconds")
    fine = [name for name, count in known.items() if count >= FINE * len(span)]
    rounds = {name: book.steps[name][span.stop - 1] / book.strides.get(name, 1) for name in known}
    best = min(fine, key=lambda name: rounds[name]) if fine else max(known, key=lambda name: known[name])
    return _axis(book, best, f"rounds of the loop over `{best.rpartition(' ')[2]}`")


def _values(book: Book, name: str, span: range) -> int:
    """How many values it has over a stretch."""
    column = book.steps[name]
    return len({column[i] for i in span}) if column[span.start] >= 0 else 0


def _axis(book: Book, name: str, title: str) -> Axis:
    stride = book.strides.get(name, 1)
    return Axis(title, "a step", tuple(steps / stride for steps in book.steps[name]), name)
