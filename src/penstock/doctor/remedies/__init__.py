"""What to do about each kind of finding: one file a family. A new file in here is found by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

DICTS = ("dict", "defaultdict", "OrderedDict")


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
    name: str = ""
    """The name in the sample in whose place that of the user goes."""
    samples: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Other samples, by the type of the container."""

    def sample_for(self, name: str, kind: str) -> str:
        """The sample for a container of a kind, with the name that the user gave it."""
        sample = self.samples.get(kind, self.sample)
        return re.sub(rf"\b{self.name}\b", lambda _: name, sample) if name and self.name else sample


@cache
def remedies() -> dict[str, Remedy]:
    """All kinds, by name."""
    files = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    return {one.kind: one for file in files for one in file.REMEDIES}
