"""Findings as text: one file a format."""

from __future__ import annotations

from collections.abc import Callable

from penstock.doctor.lint.formats.github import github
from penstock.doctor.lint.formats.json import as_json
from penstock.doctor.lint.formats.sarif import sarif
from penstock.doctor.lint.formats.text import text
from penstock.doctor.lint.run import Outcome

FORMATS: dict[str, Callable[[Outcome], str]] = {
    "text": text,
    "json": as_json,
    "github": github,
    "sarif": sarif,
}
