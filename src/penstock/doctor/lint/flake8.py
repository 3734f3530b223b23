"""The rules as a plugin of Flake8."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import ClassVar

from penstock.doctor.lint.check import lint_text


class Plugin:
    """What Flake8 makes for each file. It keeps the codes, `# noqa` and selection of Flake8.

    >>> text = "import penstock as ps" + chr(10) + "ds = ps.Dataset.range(9).shuffle(1)"
    >>> plugin = Plugin(ast.parse(text), text.splitlines(keepends=True))
    >>> [(line, column) for line, column, message, kind in plugin.run()]
    [(2, 5)]
    """

    name: ClassVar[str] = "penstock-lint"
    version: ClassVar[str] = version("penstock")

    def __init__(self, tree: ast.AST, lines: Sequence[str]) -> None:  # noqa: ARG002  Flake8 asks by name
        self._text = "".join(lines)

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Every finding: its line, its column from 0, and what to say."""
        for found in lint_text(self._text):
            yield found.line, found.column - 1, f"{found.code} {found.message}", type(self)
