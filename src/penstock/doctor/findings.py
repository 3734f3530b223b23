"""What the doctor says: findings, and the whole of a watch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.doctor.forecast import Forecast
from penstock.doctor.places import Place
from penstock.doctor.remedies import Remedy
from penstock.doctor.verdict import Growth

CLEAN, LEAK, UNCLEAR = 0, 1, 2


@dataclass(frozen=True)
class Axis:
    """What growth is counted by: steps of a loop, or seconds."""

    name: str
    """As in "optimizer steps"."""
    one: str
    """As in "a step"."""
    xs: tuple[float, ...]
    key: str = ""
    """Which counter of steps, or which variable of a loop it is."""


@dataclass(frozen=True)
class Curve:
    """What grew, over steps or seconds."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]


@dataclass
class Finding:
    """One thing that grows, who makes it grow, and what to do."""

    remedy: Remedy
    what: str
    """One sentence, in the user's words."""
    unit: str
    axis: Axis
    growth: Growth
    tier: int
    place: Place | None = None
    """The user's line that makes it grow."""
    made: Place | None = None
    """Where what is kept was made, if elsewhere."""
    bound: Place | None = None
    """Where the name that keeps it was bound."""
    chain: tuple[str, ...] = ()
    bytes_each: float | None = None
    """Bytes a step, or a second."""
    exact: bool = False
    """Whether the bytes are known rather than guessed."""
    inside: bool = False
    """Whether it is inside of a library's object: no line of the user's puts it there by name."""
    itself: bool = False
    """Whether the line was seen to make it, or makes it from what it was before: `total = total + loss`."""
    local: bool = False
    """Whether its name is that of a function at work."""
    anew: bool = False
    """Whether it is a buffer that is made anew each time, and longer: no leak, but memory grows with it."""
    named: bool = False
    """Whether the line adds to it by its name, and not as a part of something else that it does."""
    name: str = ""
    """What the user calls it, where that can be written in code."""
    type: str = ""
    """Of a container: what it is."""
    way: tuple[str, ...] = ()
    """The names that lead to it, one after another."""
    within: bool = False
    """Whether it is in one of the members of a container that grows, as others like it are."""
    things: int = 1
    """Of a container: how many of the things of its kind are in a member, such as the arrays of a model."""
    together: float = 0.0
    """What all containers grow by that the same line makes longer."""
    forecast: Forecast | None = None
    curve: Curve = Curve((), ())
    key: str = ""

    @property
    def kind(self) -> str:
        """The kind of finding."""
        return self.remedy.kind

    @property
    def sample(self) -> str:
        """Code that has it no more, with the user's own name."""
        return self.remedy.sample_for(self.name, self.type)

    def as_json(self) -> dict[str, Any]:
        """Plain data, with the keys of `docs/doctor.md`."""
        lines = dict.fromkeys(p for p in (self.place, self.made, self.bound) if p is not None)
        return {
            "kind": self.kind,
            "title": self.remedy.title,
            "what": self.what,
            "file": self.place.file if self.place else None,
            "line": self.place.line if self.place else None,
            "made": _place(self.made),
            "bound": _place(self.bound),
            "lines": [_place(place) for place in lines],
            "chain": list(self.chain),
            "growth": {
                "unit": self.unit,
                "by": self.axis.one,
                "slope": self.growth.slope,
                "low": self.growth.low,
                "high": self.growth.high,
                "gained": self.growth.gained,
            },
            "bytes_each": self.bytes_each,
            "forecast": self.forecast.as_json() if self.forecast else None,
            "why": self.remedy.why,
            "fix": self.remedy.fix,
            "sample": self.sample,
            "curve": {"x": list(self.curve.xs), "y": list(self.curve.ys)},
        }


def _place(place: Place | None) -> dict[str, Any] | None:
    return None if place is None else {"file": place.file, "line": place.line}


@dataclass
class Diagnosis:
    """What a watch has shown."""

    status: int
    """0 clean, 1 a leak, 2 could not tell."""
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What grows but does not matter, and what is wasted but does not grow."""
    reason: str = ""
    """Why it could not tell."""
    steps: str = ""
    seconds: float = 0.0
    moments: int = 0
    script_status: int | None = None
    curves: dict[str, Curve] = field(default_factory=dict)
    """The memory of the process, to be shown beside."""

    @property
    def leaks(self) -> bool:
        """Whether there is a leak.

        >>> Diagnosis(0).leaks
        False
        """
        return self.status == LEAK

    def as_json(self) -> dict[str, Any]:
        """Plain data, with the keys of `docs/doctor.md`."""
        return {
            "status": self.status,
            "verdict": ("clean", "leak", "could not tell")[self.status],
            "reason": self.reason,
            "findings": [finding.as_json() for finding in self.findings],
            "notes": self.notes,
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
            "moments": self.moments,
            "script_status": self.script_status,
        }
