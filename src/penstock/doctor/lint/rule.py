"""What a rule is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.finding import Level

Hit = tuple[ast.AST, str]
"""What a rule gives: the node to point at, and the sentence to say."""


@dataclass(frozen=True)
class Rule:
    """One rule: its code for ever, what users read, two examples that the tests run, and the check itself."""

    code: str
    name: str
    level: Level
    title: str
    why: str
    fix: str
    bad: str
    good: str
    check: Callable[[Facts], Iterable[Hit]]
    libraries: tuple[str, ...]
    """Packages that a file must import, one at least, for the rule to have anything to say."""
    hints: tuple[str, ...]
    """Patterns of which the text has all, or else there is no need to look closer."""
    sources: tuple[str, ...] = ()
    """Where people met it."""
