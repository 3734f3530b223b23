"""Findings as SARIF 2.1.0, which code scanning services and editors read."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from penstock.doctor.lint.finding import Finding, Problem
from penstock.doctor.lint.rule import Rule
from penstock.doctor.lint.rules import rules
from penstock.doctor.lint.run import Outcome

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(outcome: Outcome) -> str:
    """One run of the tool, with all its rules.

    >>> json.loads(sarif(Outcome()))["version"]
    '2.1.0'
    """
    known = list(rules().values())
    numbers = {rule.code: number for number, rule in enumerate(known)}
    driver = {
        "name": "penstock lint",
        "version": version("penstock"),
        "rules": [_rule(rule) for rule in known],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(found, numbers[found.code]) for found in outcome.findings],
        "invocations": [
            {
                "executionSuccessful": not outcome.problems,
                "toolExecutionNotifications": [_notice(problem) for problem in outcome.problems],
            }
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.why}\n\n{rule.fix}", "markdown": f"{rule.why}\n\n**Fix:** {rule.fix}"},
        "defaultConfiguration": {"level": rule.level},
    }


def _result(found: Finding, number: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _file(found.path)}
    message = f"{found.message}. {found.fix}"
    if found.cell is None:
        place["region"] = {
            "startLine": found.line,
            "startColumn": found.column,
            "endLine": found.end_line,
            "endColumn": found.end_column,
        }
    else:
        message = f"cell {found.cell}, line {found.line}: {message}"
    return {
        "ruleId": found.code,
        "ruleIndex": number,
        "level": found.level,
        "message": {"text": message},
        "locations": [{"physicalLocation": place}],
    }


def _notice(problem: Problem) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _file(problem.path)}
    if problem.line:
        place["region"] = {"startLine": problem.line}
    return {
        "level": "error",
        "message": {"text": problem.message},
        "locations": [{"physicalLocation": place}],
    }


def _file(path: str) -> dict[str, str]:
    if Path(path).is_absolute():
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(Path(path).as_posix())}
