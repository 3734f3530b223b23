"""A file through the rules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from penstock.doctor.lint.facts import Facts
from penstock.doctor.lint.finding import Finding
from penstock.doctor.lint.noqa import silenced
from penstock.doctor.lint.rule import Rule
from penstock.doctor.lint.rules import rules
from penstock.doctor.lint.source import Source


def lint_text(text: str, path: str = "<text>", codes: Iterable[str] | None = None) -> list[Finding]:
    """The findings in a piece of source code; `SyntaxError` if it is not Python.

    >>> text = "import penstock as ps" + chr(10) + "ds = ps.Dataset.range(9).batch(3).shuffle(100)"
    >>> [str(found) for found in lint_text(text)]  # doctest: +ELLIPSIS
    ['<text>:2:6: PSK006 shuffle() comes after batch()...']
    """
    return lint_source(Source(path, text), codes)


def lint_source(source: Source, codes: Iterable[str] | None = None) -> list[Finding]:
    """The findings in a file that was read; with `codes`, of these rules only."""
    known: Mapping[str, Rule] = rules()
    asked = [known[code] for code in (known if codes is None else sorted(set(codes)))]
    hinted = [rule for rule in asked if _hinted(rule, source.text)]
    if not hinted:
        ast.parse(source.text, source.path)  # nothing here that rules speak of, but it may not be Python
        return []
    facts = Facts(source.text, source.path)
    concerned = [rule for rule in hinted if not facts.imported.isdisjoint(rule.libraries)]
    found = {one for rule in concerned for one in _hits(rule, facts, source)}
    return sorted(one for one in found if not silenced(one, source))


def _hinted(rule: Rule, text: str) -> bool:
    """Whether a text may concern a rule at all: most files concern none, and need no closer look."""
    return any(name in text for name in rule.libraries) and all(re.search(one, text) for one in rule.hints)


def _hits(rule: Rule, facts: Facts, source: Source) -> Iterable[Finding]:
    for node, message in rule.check(facts):
        place = node if hasattr(node, "lineno") else facts.statement(node)
        line, column = place.lineno, place.col_offset  # type: ignore[attr-defined]
        method = place.func if isinstance(place, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.end_lineno not in {None, line}:
            # A chain over several lines: the line of the method, not that of where the chain begins.
            line, column = method.end_lineno or line, (method.end_col_offset or 0) - len(method.attr)
        end = getattr(place, "end_lineno", None) or line
        end_column = getattr(place, "end_col_offset", None) or column
        if isinstance(
            place, (ast.For, ast.While, ast.With, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
        ):
            end, end_column = line, column + 1  # the whole block would be too much to point at
        cell, first = source.cell(line)
        yield Finding(
            source.path,
            line - first,
            column + 1,
            end - first,
            end_column + 1,
            rule.code,
            rule.level,
            message,
            rule.fix,
            cell,
        )
