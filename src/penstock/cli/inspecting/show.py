"""What was found, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.cli.inspecting.findings import Column, Finding, Pair
from penstock.cli.inspecting.looking import plural
from penstock.memory.sizes import show_bytes
from penstock.report.table import table

FILES = 20
DAMAGE = 20
"""So many files, and so much damage, are listed."""
INDENT = "  "


class Style:
    """Colours, on a terminal."""

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colours else text

    def title(self, text: str) -> str:
        """The name of what is told of."""
        return self._paint("1", text)

    def bad(self, text: str) -> str:
        """Damage."""
        return self._paint("31", text)

    def good(self, text: str) -> str:
        """All is well."""
        return self._paint("32", text)

    def faint(self, text: str) -> str:
        """What is less important."""
        return self._paint("2", text)


def show_finding(found: Finding, style: Style) -> str:
    """All that there is to say."""
    kind = ", ".join(one for one in (found.format, found.content, found.compression) if one)
    lines = [f"{style.title(printable(found.path))}: {kind}"]
    if found.error:
        return "\n".join([*lines, INDENT + style.bad("could not be read: " + printable(found.error))])
    lines.append(INDENT + _totals(found))
    lines += [
        f"{INDENT}{key.replace('_', ' ')}: {printable(_said(value))}" for key, value in found.details.items()
    ]
    lines += _section("", _columns(found))
    lines += _section("files:", _files(found))
    lines += _section("samples:", [line for one in found.samples for line in _sample(one)])
    lines += _section("to parse them:", found.code.splitlines())
    lines += ["", *_damage(found, style)]
    return "\n".join(lines)


def printable(text: str) -> str:
    """Text without what would move the cursor."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape", "surrogatepass").decode() for one in text
    )


def _section(title: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    head = [INDENT + title] if title else []
    return ["", *head, *[(INDENT * (1 + bool(title)) + line).rstrip() for line in lines]]


def _totals(found: Finding) -> str:
    said = []
    if found.records is not None:
        said.append(("" if found.whole else "the first ") + plural(found.records, found.unit))
    if len(found.files) > 1:
        said.append(plural(len(found.files), "file"))
    said.append(show_bytes(found.bytes))
    if found.record_bytes and found.records:
        least, mean, most = found.record_bytes
        each = show_bytes(least) if least == most else f"{show_bytes(least)} to {show_bytes(most)}"
        said.append(f"{each} each" + ("" if least == most else f", {show_bytes(round(mean))} on average"))
    return ", ".join(said)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_said(one)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(_said(one) for one in value)
    return str(value)


def _columns(found: Finding) -> list[str]:
    if not found.columns:
        return []
    makers: dict[str, Callable[[Column], str]] = {
        "part": lambda one: one.part,
        "shape": lambda one: "" if one.shape is None else str(list(one.shape)).replace("None", "?"),
        "in": lambda one: _in(one, found),
        "steps": lambda one: _pair(one.steps),
        "values": lambda one: _pair(one.values),
        "range": lambda one: _pair(one.range),
        "bytes": lambda one: _pair(one.bytes),
        "looks like": lambda one: one.looks_like,
    }
    cells = {head: [maker(column) for column in found.columns] for head, maker in makers.items()}
    heads = [head for head in cells if any(cells[head])]
    rows = [
        [printable(column.name), column.dtype, *[cells[head][i] for head in heads]]
        for i, column in enumerate(found.columns)
    ]
    return table(["name", "dtype", *heads], rows).splitlines()


def _in(column: Column, found: Finding) -> str:
    if column.present is None:
        return ""
    return "all" if column.present == found.records else f"{column.present:,}"


def _pair(pair: Pair | None) -> str:
    if pair is None:
        return ""
    least, most = (_number(one) for one in pair)
    return least if least == most else f"{least} to {most}"


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def _files(found: Finding) -> list[str]:
    if len(found.files) < 2:
        return []
    bad = any(file.damaged for file in found.files)
    rows = []
    for file in sorted(found.files, key=lambda one: -min(one.damaged, 1))[:FILES]:
        count = "" if file.records is None else f"{file.records:,}"
        row = [printable(file.path), count, show_bytes(file.bytes)]
        rows.append([*row, f"{file.damaged:,}"] if bad else row)
    lines = table(["file", found.unit + "s", "size", *(["damage"] if bad else [])], rows).splitlines()
    left = len(found.files) - FILES
    return [*lines, f"and {plural(left, 'file')} more"] if left > 0 else lines


def _sample(sample: dict[str, str]) -> list[str]:
    width = max((len(printable(name)) for name in sample), default=0)
    lines = [f"{printable(name).ljust(width)}  {printable(value)}" for name, value in sample.items()] or [
        "(empty)"
    ]
    return [("- " if i == 0 else "  ") + line for i, line in enumerate(lines)]


def _damage(found: Finding, style: Style) -> list[str]:
    if not found.damaged:
        looked = "" if found.whole else " in what was looked at"
        return [INDENT + style.good(f"no damage found{looked}")]
    lines = [INDENT + style.bad(f"damage: {found.damaged:,}")]
    for one in found.damage[:DAMAGE]:
        record = "" if one.record is None else f", {found.unit} {one.record:,}"
        lines.append(f"{INDENT * 2}{printable(one.file)}, byte {one.offset:,}{record}: {printable(one.what)}")
    if found.damaged > DAMAGE:
        lines.append(f"{INDENT * 2}and {found.damaged - DAMAGE:,} more (--json lists up to 1,000)")
    return lines
