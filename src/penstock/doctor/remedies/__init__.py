"""What to do about each kind of finding: one file a family. A new file in here is found by itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules


@dataclass(frozen=True)
class Remedy:
    """One kind of finding: `penstock doctor --explain KIND` prints its page, as in `docs/findings/`."""

    kind: str
    title: str
    why: str
    fix: str
    sample: str
    bad: str
    """Code that has it."""
    seen: str
    """How the doctor sees it."""
    other: str
    """What looks like it and is none."""


@cache
def remedies() -> dict[str, Remedy]:
    """All kinds, by name."""
    files = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    return {one.kind: one for file in files for one in file.REMEDIES}
