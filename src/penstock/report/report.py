"""What a run held, how long each op took, and what it had to put up with."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from penstock.memory.sizes import show_bytes
from penstock.report.table import counted, table

WORDS = {"rows a block": "elements at a time, at most"}
"""What users call some of the things that were chosen."""


@dataclass(frozen=True)
class Chosen:
    """A number that was found while the run went on."""

    what: str
    """Such as `calls at once`."""
    value: int
    why: str

    def __str__(self) -> str:
        words = WORDS.get(self.what, self.what)
        thing, _, rest = words.partition(" ")
        thing = thing.removesuffix("s") if self.value == 1 else thing
        return f"{self.value:,} {thing} {rest}: {self.why}"


@dataclass(frozen=True)
class OpReport:
    """One op of a run."""

    name: str
    """How messages call it: `shuffle`, or `map#2` where there are several."""
    declared: str
    elements: int
    failed: int
    held: int
    """Bytes held now."""
    peak: int
    """Bytes held at most."""
    seconds: float
    """Time in the op itself, without its inputs."""
    notes: tuple[str, ...] = ()
    chosen: tuple[Chosen, ...] = ()
    """What was chosen for it while it ran, and why."""


@dataclass(frozen=True)
class Report:
    """A run in numbers; `str()` of it is a table, `as_dict()` is plain data."""

    budget: int
    held: int
    peak: int
    seconds: float
    lent_elements: int
    lent_bytes: int
    holders: tuple[str, ...]
    """Who refers to lent elements, in the user's words."""
    idle: int
    """Bytes in buffers that wait for their next use."""
    idle_peak: int
    """Bytes in such buffers at most."""
    ops: tuple[OpReport, ...]
    changes: tuple[str, ...]
    """What the optimizer did."""

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, fit for JSON."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        rows = [
            [
                op.name,
                f"{op.elements:,}",
                show_bytes(op.held),
                show_bytes(op.peak),
                f"{op.seconds:.3f} s",
            ]
            for op in self.ops
        ]
        rows.append(["idle buffers", "", show_bytes(self.idle), show_bytes(self.idle_peak), ""])
        # Not the sum of the column: the ops do not hold their most at the same time.
        rows.append(
            ["all at one time", "", show_bytes(self.held), show_bytes(self.peak), f"{self.seconds:.3f} s"]
        )
        lines = [table(["op", "elements", "held now", "at most", "time"], rows)]
        lines.append(f"budget {show_bytes(self.budget)}, at most {self._share()} of it used at one time")
        if self.lent_elements:
            lent = counted(self.lent_elements)
            lines.append(f"lent to your code: {lent}, {show_bytes(self.lent_bytes)}")
        lines += [f"  kept by {holder}" for holder in self.holders]
        for op in self.ops:
            if op.failed:
                lines.append(f"{op.name}: {counted(op.failed)} failed")
            lines += [f"{op.name}: {each}" for each in op.chosen]
            lines += [f"{op.name}: {note}" for note in op.notes]
        return "\n".join(lines)

    def _share(self) -> str:
        share = 100 * self.peak / self.budget
        return "<1%" if 0 < share < 1 else f"{share:.0f}%"
