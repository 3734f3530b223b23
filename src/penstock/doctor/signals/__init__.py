"""What can grow: one file a symptom. A new file in here is found by itself.

A file has any of these:

- `SIGNALS`: a list of `Signal`, counters that are read at every sample;
- `kept(thing, where)`: the kind of the finding where user code keeps such a thing in a container that is
  called `where`, or None;
- `history(thing)`: how many things it was made from one after another, where it keeps all of them, or None;
- `has_more(thing)`: whether more hangs on a thing than one can see of it;
- `MADE`: `{kind: (module, class)}`, classes of which the lines that make them are of interest;
- `meet(objects, types)`: is shown all that there is, before it is set aside.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from penstock.doctor.places import Place, Places


@dataclass(slots=True)
class Look:
    """What a sample sees of the process."""

    objects: Sequence[object] = ()
    """What the collector tracks and what has come since the watch began."""
    types: Counter[str] = field(default_factory=Counter)
    """How many objects of each type there are, by the full name of the type."""


@dataclass(frozen=True)
class Suspect:
    """Whom a signal itself can name: the line, and who keeps it."""

    place: Place | None = None
    chain: tuple[str, ...] = ()
    what: str = ""


@dataclass(frozen=True)
class Signal:
    """A counter whose growth is a symptom."""

    key: str
    kind: str
    """The kind of finding: a page in `docs/findings/`."""
    unit: str
    least: float
    """What it must gain to matter."""
    read: Callable[[Look], float | None]
    needs: str = ""
    """The module that the script must have imported."""
    bytes: bool = False
    """Whether it counts bytes of memory: then a finding that explains them goes before."""
    objects: bool = False
    """Whether it counts among the objects that have come: then it is read with the census only."""
    quick: bool = False
    """Whether it may be read at every line, to see which line makes it grow."""
    suspect: Callable[[Places], Suspect] | None = None
    within: str = ""
    """The counter that must grow with it: what this one counts was asked for there."""
    idle: str = ""
    """The counter of that part of it that nobody uses."""
    at_line: Callable[[Look], float | None] | None = None
    """What to read at a line, where others can make it grow too: only what is this process's own."""

    def value(self, look: Look, line: bool = False) -> float | None:
        """What it counts now, at a step or at a line; None where there is nothing to count."""
        if self.needs and not loaded(self.needs):
            return None
        try:
            return self.at_line(look) if line and self.at_line is not None else self.read(look)
        except Exception:  # a library of another version: the others go on
            return None


def loaded(name: str) -> bool:
    """Whether the script has imported a module, and is done with it."""
    module = sys.modules.get(name)
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)


@cache
def _files() -> tuple[Any, ...]:
    return tuple(import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))


def signals() -> list[Signal]:
    """All counters."""
    return [one for file in _files() for one in getattr(file, "SIGNALS", ())]


def kept_kind(thing: object, where: str) -> str | None:
    """The kind of the finding where user code keeps `thing`."""
    for file in _files():
        ask = getattr(file, "kept", None)
        kind = ask(thing, where) if ask is not None else None
        if kind is not None:
            return str(kind)
    return None


def has_more(thing: object) -> bool:
    """Whether more hangs on a thing than one can see, such as the state that an optimizer has of it."""
    return any(file.has_more(thing) for file in _files() if hasattr(file, "has_more"))


@cache
def _histories() -> tuple[Callable[[object], int | None], ...]:
    return tuple(file.history for file in _files() if hasattr(file, "history"))


def history_of(thing: object) -> int | None:
    """How long the history of a thing is, if it has one that is followed."""
    for ask in _histories():
        found = ask(thing)
        if found is not None:
            return found
    return None


def meet(objects: Sequence[object], types: Counter[str]) -> None:
    """Show all that there is to whom it concerns: it is set aside then."""
    for file in _files():
        told = getattr(file, "meet", None)
        if told is not None:
            told(objects, types)


def made_classes() -> dict[str, tuple[str, str]]:
    """The classes of which the lines that make them are of interest."""
    return {kind: names for file in _files() for kind, names in getattr(file, "MADE", {}).items()}
