"""`# noqa`: lines that users have looked at and want to keep."""

from __future__ import annotations

import re

from penstock.doctor.lint.finding import Finding
from penstock.doctor.lint.source import Source

NOQA = re.compile(r"#\s*noqa\b(?P<codes>\s*:\s*[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*)?", re.IGNORECASE)


def silenced(found: Finding, source: Source) -> bool:
    """Whether a comment on the first or the last line of what a finding points at says to keep quiet.

    >>> found = Finding("a.py", 1, 1, 1, 2, "PSK001", "note", "", "")
    >>> [silenced(found, Source("a.py", f"f()  # noqa: {code}")) for code in ("PSK001", "E501")]
    [True, False]
    """
    _, first = source.cell_start(found.cell)
    for number in {found.line + first, found.end_line + first}:
        line = source.lines[number - 1] if 0 < number <= len(source.lines) else ""
        for said in NOQA.finditer(line):
            codes = said["codes"]
            if codes is None or found.code in re.findall(r"[A-Z]+[0-9]+", codes.upper()):
                return True
    return False
