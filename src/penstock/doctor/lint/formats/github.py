"""Findings as GitHub's workflow commands, which it shows beside the lines of a change."""

from __future__ import annotations

from penstock.doctor.lint.rules import rules
from penstock.doctor.lint.run import Outcome

LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def github(outcome: Outcome) -> str:
    """One command a finding or a problem.

    >>> from penstock.doctor.lint.finding import Problem
    >>> github(Outcome(problems=[Problem("a.py", 3, "not Python")]))
    '::error file=a.py,line=3,title=penstock lint::not Python'
    """
    lines = []
    for found in outcome.findings:
        place = {"file": found.path, "line": found.line, "endLine": found.end_line, "col": found.column}
        if found.end_line == found.line:
            place["endColumn"] = found.end_column
        title = f"{found.code} {rules()[found.code].title}"
        message = f"{found.message}\n{found.fix}"
        if found.cell is not None:
            place = {"file": found.path}
            message = f"cell {found.cell}, line {found.line}: {message}"
        lines.append(_command(LEVELS[found.level], {**place, "title": title}, message))
    for problem in outcome.problems:
        where = {"file": problem.path, **({"line": problem.line} if problem.line else {})}
        lines.append(_command("error", {**where, "title": "penstock lint"}, problem.message))
    return "\n".join(lines)


def _command(level: str, about: dict[str, object], message: str) -> str:
    told = ",".join(f"{name}={_escaped(str(value), inside=True)}" for name, value in about.items())
    return f"::{level} {told}::{_escaped(message)}"


def _escaped(text: str, inside: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if inside else text
