"""Steps of Penstock: elements of its iterators."""

from __future__ import annotations

import sys
from collections.abc import Callable

from penstock.doctor.steps import Source, Tick, wrapped


def _elements(tick: Tick) -> Callable[[], None]:
    return wrapped(sys.modules["penstock.engine.iterator"].Iterator, "__next__", tick)


SOURCES = [Source("elements of a Penstock iterator", 3, "penstock.engine.iterator", _elements)]
