"""Findings for people."""

from __future__ import annotations

from penstock.doctor.lint.run import Outcome


def text(outcome: Outcome) -> str:
    """One line a finding, what to do below it, and a sum at the end.

    >>> print(text(Outcome(files=3)))
    no findings in 3 files
    """
    lines: list[str] = []
    for found in outcome.findings:
        lines += [str(found), f"    fix: {found.fix}"]
    lines += [f"{problem}" for problem in outcome.problems]
    total = f"{_count(len(outcome.findings), 'finding')} in {_count(outcome.files, 'file')}"
    if outcome.problems:
        total += f"; {_count(len(outcome.problems), 'path')} could not be looked at"
    if outcome.findings:
        total += f" (penstock lint --explain {outcome.findings[0].code} says more)"
    return "\n".join([*lines, total])


def _count(number: int, thing: str) -> str:
    return f"{number or 'no'} {thing}{'' if number == 1 else 's'}"
