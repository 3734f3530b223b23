"""What one op did: counted while it runs, read by the report."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.report.report import Chosen


@dataclass
class Meter:
    """Counters of one op over a run."""

    elements: int = 0
    blocks: int = 0
    failed: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    """Seconds in which the op waited for its inputs."""
    notes: list[str] = field(default_factory=list)
    chosen: dict[str, Chosen] = field(default_factory=dict)
    """What was chosen while it ran, by what it is."""
