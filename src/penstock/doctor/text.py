"""The report on the terminal."""

from __future__ import annotations

import linecache
from collections.abc import Iterator

from penstock.doctor.findings import CLEAN, LEAK, Diagnosis, Finding
from penstock.doctor.forecast import show_time
from penstock.doctor.places import Place
from penstock.memory.sizes import show_bytes

EXPLAIN = "penstock doctor --explain"


def show(said: Diagnosis, *, colours: bool = False) -> str:
    """The whole report."""
    return "\n".join(_lines(said, _Ink(colours)))


class _Ink:
    def __init__(self, colours: bool) -> None:
        self.bold = "\x1b[1m" if colours else ""
        self.red = "\x1b[31m" if colours else ""
        self.green = "\x1b[32m" if colours else ""
        self.dim = "\x1b[2m" if colours else ""
        self.end = "\x1b[0m" if colours else ""


def _lines(said: Diagnosis, ink: _Ink) -> Iterator[str]:
    seen = f"{said.steps}, {show_time(said.seconds)}, {said.moments} samples" if said.steps else ""
    if said.status == LEAK:
        count = len(said.findings)
        yield f"{ink.red}{ink.bold}penstock doctor: {count} leak{'s' * (count > 1)}{ink.end}  ({seen})"
    elif said.status == CLEAN:
        yield f"{ink.green}{ink.bold}penstock doctor: no leak{ink.end}  ({seen})"
    else:
        yield f"{ink.bold}penstock doctor: could not tell{ink.end}: {said.reason}"
    for number, finding in enumerate(said.findings, 1):
        yield ""
        yield from _finding(number, finding, ink)
    if said.notes:
        yield ""
        yield f"{ink.bold}no leak, but{ink.end}"
        yield from (f"  - {note}" for note in said.notes)
    if said.script_status:
        yield ""
        yield f"the script ended with status {said.script_status}"


def _finding(number: int, one: Finding, ink: _Ink) -> Iterator[str]:
    yield f"{ink.bold}{number}. {one.remedy.title}{ink.end}  [{one.kind}]"
    yield f"   what    {one.what}"
    if one.place is not None:
        yield f"   where   {_quoted(one.place)}"
    if one.made is not None:
        yield f"           made in {_quoted(one.made)}"
    if one.chain:
        yield f"   kept by {' -> '.join(one.chain)}"
    yield f"   growth  {growth_text(one)}"
    if one.forecast is not None:
        yield f"           {one.forecast}"
    yield f"   why     {one.remedy.why}"
    yield f"   fix     {one.remedy.fix}"
    yield from (f"           {ink.dim}| {line}{ink.end}" for line in one.sample.splitlines())
    yield f"   more    {EXPLAIN} {one.kind}"


def growth_text(one: Finding) -> str:
    """The growth with its uncertainty, in words."""
    growth, by = one.growth, one.axis.one
    if one.unit == "bytes":
        span = f"{show_bytes(growth.slope)} (95%: {show_bytes(growth.low)} to {show_bytes(growth.high)})"
        return f"{span} {by}"
    more = f", about {show_bytes(one.bytes_each)} {by}" if one.bytes_each else ""
    return f"{counted(growth.slope, one.unit)} {by} (95%: {growth.low:.3g} to {growth.high:.3g}){more}"


def counted(number: float, unit: str) -> str:
    """A number with its unit, in the singular where it is one.

    >>> counted(1.0, "processes"), counted(2.5, "members")
    ('1 process', '2.5 members')
    """
    shown = f"{number:.3g}"
    if shown == "1" and unit.endswith("s"):
        unit = unit[:-2] if unit.endswith("sses") else unit[:-1]
    return f"{shown} {unit}"


def _quoted(place: Place) -> str:
    line = linecache.getline(place.file, place.line).strip()
    return f"{place.file}:{place.line}" + (f": {line}" if line else "")
