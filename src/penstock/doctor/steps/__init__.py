"""Steps found by themselves: one file a place where a training loop goes round.

A file has `SOURCES`: a list of `Source`. A new file in here is found by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from penstock.doctor.signals import loaded

Tick = Callable[[], None]


@dataclass(frozen=True)
class Source:
    """Where steps can be counted."""

    name: str
    rank: int
    """Of several that count at once, the lowest rank is the step that users mean."""
    needs: str
    """The module that the script must have imported."""
    attach: Callable[[Tick], Callable[[], None]]
    """Has the tick called at every step; gives what undoes it."""


@cache
def sources() -> tuple[Source, ...]:
    """All of them, the one that users mean first."""
    files = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    return tuple(sorted((one for file in files for one in file.SOURCES), key=lambda one: one.rank))


def wrapped(owner: Any, name: str, tick: Tick) -> Callable[[], None]:
    """Has `tick` called after each call of a method; gives what puts the method back."""
    plain = owner.__dict__[name]

    @wraps(plain)
    def counted(*args: Any, **kwargs: Any) -> Any:
        out = plain(*args, **kwargs)
        tick()
        return out

    setattr(owner, name, counted)

    def undo() -> None:
        if owner.__dict__.get(name) is counted:
            setattr(owner, name, plain)

    return undo


def ready() -> list[Source]:
    """The sources whose library the script has imported by now."""
    return [source for source in sources() if loaded(source.needs)]
