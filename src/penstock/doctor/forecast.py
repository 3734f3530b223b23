"""When the memory is full, at the rate that was seen."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.memory.budget import usable_memory
from penstock.memory.sizes import show_bytes


@dataclass(frozen=True)
class Forecast:
    """After how many steps, and seconds, what there is will be used up."""

    limit: float
    what: str
    """What is full then: "the 24 GiB of this container"."""
    steps: float | None
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"limit": self.limit, "what": self.what, "steps": self.steps, "seconds": self.seconds}

    def __str__(self) -> str:
        steps = f"about {_count(self.steps)} steps, " if self.steps is not None else ""
        return f"at this rate {self.what} are full after {steps}{show_time(self.seconds)}"


def forecast_bytes(now: float, by_step: float | None, by_second: float) -> Forecast | None:
    """When memory is full, that holds `now` bytes already."""
    if by_second <= 0:
        return None
    limit = usable_memory()
    left = max(0.0, limit - now)
    where = "container" if limit < _machine() else "machine"
    steps = left / by_step if by_step else None
    return Forecast(limit, f"the {show_bytes(limit)} of this {where}", steps, left / by_second)


def forecast_descriptors(now: float, by_step: float | None, by_second: float) -> Forecast | None:
    """When no further file can be opened."""
    if by_second <= 0:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    left = max(0.0, limit - now)
    steps = left / by_step if by_step else None
    return Forecast(limit, f"the {limit:,} open files that a process may have", steps, left / by_second)


def _machine() -> int:
    try:
        words = Path("/proc/meminfo").read_text().split()
        return int(words[1]) * 1024
    except (OSError, ValueError, IndexError):
        return 1 << 62


def _count(number: float) -> str:
    if number < 1000:
        return f"{number:.0f}"
    size = 10 ** (len(str(int(number))) - 2)  # two digits are as much as is known
    return f"{int(number) // size * size:,}"


def show_time(seconds: float) -> str:
    """A span of time, in the two largest units.

    >>> show_time(11400)
    '3 h 10 min'
    >>> show_time(42)
    '42 s'
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    if minutes < 120:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    days = minutes // (24 * 60)
    return f"{days:,} days" if days < 3650 else f"{days // 365:,} years"
