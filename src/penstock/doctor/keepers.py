"""Containers that no name of the user's leads to, and that keep what grows."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Iterator

Known = dict[int, tuple[object, str, bool]]


def _references(known: Known, key: int) -> int:
    return sys.getrefcount(known[key][0])


ALONE = _references({0: ([], "", False)}, 0)
"""The references to what nobody has but the table it is in."""


class Keepers:
    """Those of libraries that were found while the script ran, each for as long as someone else has it."""

    def __init__(self) -> None:
        self._known: Known = {}

    def add(self, thing: object, label: str, named: bool = False) -> None:
        """Look at a container from now on, under a name; `named` where a name of the user's leads to it."""
        self._known[id(thing)] = (thing, label, named)

    def of(self, named: bool) -> Iterator[tuple[object, str]]:
        """Those that a name of the user's leads to, or the others."""
        for key in [key for key in self._known if _references(self._known, key) <= ALONE]:
            del self._known[key]
        return iter([(thing, label) for thing, label, has in self._known.values() if has is named])


def registries() -> list[tuple[object, str]]:
    """Those of Python itself that a line of the user's can add to."""
    found = [
        (sys.modules, "sys.modules"),
        (sys.path, "sys.path"),
        (gc.callbacks, "gc.callbacks"),
        (warnings.filters, "warnings.filters"),
        (getattr(os.environ, "_data", None), "os.environ"),
    ]
    return [(thing, label) for thing, label in found if thing is not None]
