"""The report as one page that needs nothing else: curves of what grew, and who keeps it."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from html import escape
from pathlib import Path

from penstock.doctor.curves import plot
from penstock.doctor.findings import Curve, Diagnosis, Finding
from penstock.doctor.forecast import show_time
from penstock.doctor.places import Place
from penstock.doctor.text import growth_text

AROUND = 2
"""Lines of source that are shown before and after the one that is meant."""
NAMES = {
    "memory.anonymous": "anonymous memory (RSS)",
    "memory.heap": "native heap, in use",
    "memory.heap_free": "native heap, kept free by the allocator",
    "memory.files": "pages of files and shared memory",
}
STYLE = """
:root { --ink: #1c2330; --dim: #667085; --line: #e3e7ee; --bad: #c4320a; --good: #067647 }
:root { --soft: #f7f8fa }
* { box-sizing: border-box }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink) }
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1rem }
h1 { font-size: 1.5rem; margin: 0 } h2 { font-size: 1.15rem; margin: 0 0 .3rem }
.bad { color: var(--bad) } .good { color: var(--good) } .dim { color: var(--dim) }
section { border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.3rem; margin-top: 1.3rem }
dl { display: grid; grid-template-columns: 6rem 1fr; gap: .35rem .8rem; margin: .7rem 0 0 }
dt { color: var(--dim) } dd { margin: 0; min-width: 0 }
code, pre { font: 13px/1.5 ui-monospace, monospace }
pre { background: var(--soft); border-radius: 6px; padding: .5rem .7rem; margin: .3rem 0; overflow-x: auto }
pre b { color: var(--bad); font-weight: 600 }
.chain span { display: inline-block; background: var(--soft); border: 1px solid var(--line);
  border-radius: 6px;
  padding: .1rem .5rem; margin: .1rem 0 }
.kind { font: 12px ui-monospace, monospace; color: var(--dim); border: 1px solid var(--line);
  border-radius: 99px;
  padding: .1rem .55rem; vertical-align: middle }
svg { width: 100%; height: auto; display: block }
svg text { font: 11px system-ui, sans-serif; fill: var(--dim) }
.small { display: grid; grid-template-columns: repeat(auto-fit, minmax(24rem, 1fr)); gap: 1rem }
"""


def page(said: Diagnosis, script: str) -> str:
    """The whole page."""
    return "\n".join(_parts(said, script)) + "\n"


def _parts(said: Diagnosis, script: str) -> Iterator[str]:
    title = f"penstock doctor: {escape(Path(script).name)}"
    yield f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    verdict = ("no leak", f"{len(said.findings)} leak{'s' * (len(said.findings) > 1)}", "could not tell")[
        said.status
    ]
    colour = ("good", "bad", "dim")[said.status]
    yield f'<h1>{escape(Path(script).name)}: <span class="{colour}">{verdict}</span></h1>'
    if said.steps:
        seen = f"{said.steps}, {show_time(said.seconds)}, {said.moments} samples"
        yield f'<div class="dim">{_code(seen)}</div>'
    if said.reason:
        yield f"<p>{escape(said.reason)}</p>"
    if said.script_status:
        yield f"<p>The script ended with status {said.script_status}.</p>"
    for finding in said.findings:
        yield from _finding(finding)
    if said.notes:
        yield "<section><h2>No leak, but</h2><ul>"
        yield from (f"<li>{_code(note)}</li>" for note in said.notes)
        yield "</ul></section>"
    if said.curves:
        yield '<section><h2>Memory of the process</h2><div class="small">'
        for key, curve in said.curves.items():
            if len(curve.xs) > 1:
                drawn = plot(curve, "bytes", "seconds")
                yield f'<div><div class="dim">{NAMES.get(key, key)}</div>{drawn}</div>'
        yield "</div></section>"


def _finding(one: Finding) -> Iterator[str]:
    yield f'<section><h2 class="bad">{_code(one.remedy.title)} <span class="kind">{one.kind}</span></h2>'
    yield f"<div>{_code(one.what)}</div>"
    yield plot(_thin(one.curve), one.unit, one.axis.name)
    yield "<dl>"
    if one.place is not None:
        yield f"<dt>where</dt><dd><code>{escape(str(one.place))}</code>{_source(one.place)}</dd>"
    if one.made is not None:
        yield f"<dt>made in</dt><dd><code>{escape(str(one.made))}</code>{_source(one.made, 0)}</dd>"
    if one.chain:
        links = " &rarr; ".join(f"<span>{_code(link)}</span>" for link in one.chain)
        yield f'<dt>kept by</dt><dd class="chain">{links}</dd>'
    forecast = f"<br>{escape(str(one.forecast))}" if one.forecast else ""
    yield f"<dt>growth</dt><dd>{escape(growth_text(one))}{forecast}</dd>"
    yield f"<dt>why</dt><dd>{_code(one.remedy.why)}</dd>"
    yield f"<dt>fix</dt><dd>{_code(one.remedy.fix)}<pre>{escape(one.sample)}</pre></dd>"
    yield "</dl></section>"


def _source(place: Place, around: int = AROUND) -> str:
    lines = []
    for number in range(max(1, place.line - around), place.line + around + 1):
        text = linecache.getline(place.file, number).rstrip("\n")
        if text or number == place.line:
            shown = f"{number:5d}  {escape(text)}"
            lines.append(f"<b>{shown}</b>" if number == place.line else shown)
    return f"<pre>{chr(10).join(lines)}</pre>"


def _code(text: str) -> str:
    """Text in which what is between backticks is code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))


def _thin(curve: Curve, most: int = 200) -> Curve:
    every = max(1, len(curve.xs) // most)
    return Curve(curve.xs[::every], curve.ys[::every])
