"""What goes on rising while the script runs: worth asking after."""

from __future__ import annotations

from penstock.doctor.book import Book
from penstock.doctor.signals import Signal
from penstock.doctor.verdict import quarters

LEAST = {"length": 4.0, "inside": 100.0, "buffer": 1024.0, "history": 20.0, "type": 20.0}
"""What must come on top for a container, a buffer or a type to be asked after."""
PLAIN = ("builtins.", "collections.", "weakref.ReferenceType", "weakref.KeyedRef", "array.")
CODE = tuple(
    f"builtins.{name}" for name in ("function", "method", "module", "generator", "coroutine", "type")
)
"""Of Python's own types those that nobody makes many of for a short time."""
LEAST_PLAIN = 1000.0
"""Of lists, dicts and tuples there are many, and some of them are the doctor's own, as its series are."""


def growing(book: Book) -> list[str]:
    """What is higher by now than at half of the time, and was higher there than at first."""
    found = []
    for key, series in book.series.items():
        values = series.values
        if len(values) >= 3 and values[-1] > values[len(values) // 2] >= values[0] and values[-1] > values[0]:
            found.append(key)
    return found


def least_of(key: str) -> float:
    """What must come on top of a length, a buffer or a type."""
    kind, _, name = key.partition(" ")
    if name.startswith("penstock.doctor."):
        return float("inf")
    return LEAST_PLAIN if kind == "type" and is_plain(name) else LEAST.get(kind, 0.0)


def is_plain(name: str) -> bool:
    """Whether there are many of a type at any time, which come and go."""
    return name.startswith(PLAIN) and name not in CODE


def rising(book: Book, signals: list[Signal]) -> set[str]:
    """Of those, what goes on rising over the quarters of the time after the warm-up, by what matters."""
    least = {signal.key: signal.least for signal in signals}
    found = set()
    for key in growing(book):
        values = book.series[key].values
        levels = quarters(values[len(values) // 5 :])
        enough = least.get(key, least_of(key)) / 4
        if levels[-1] - levels[0] >= enough and levels == sorted(levels):
            found.add(key)
    return found
