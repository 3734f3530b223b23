"""The text of a query: where its statements end."""

from __future__ import annotations

import re

TOKEN = re.compile(
    r"""
    (?P<nothing> \s+ | --[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<end> ; )
    | (?<!\w)[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)        # PostgreSQL's, with backslashes
    | '[^']*(?:'|\Z) | "[^"]*(?:"|\Z) | `[^`]*(?:`|\Z)
    | \[[^]'"]*\]                                   # a name, or what follows that of an array
    | (?<![\w$])(?P<dollars>\$\w*\$).*?(?:(?P=dollars)|\Z)
    | [\w$]+ | .
    """,
    re.VERBOSE | re.DOTALL,
)


def statements(text: str) -> list[str]:
    """The statements of a text, without the semicolons that end them; comments alone are none."""
    found: list[str] = []
    first = last = -1
    for token in TOKEN.finditer(text):
        if token["nothing"]:
            continue
        if not token["end"]:
            first, last = (token.start() if first < 0 else first), token.end()
        elif first >= 0:
            found.append(text[first:last])
            first = -1
    return found if first < 0 else [*found, text[first:last]]
