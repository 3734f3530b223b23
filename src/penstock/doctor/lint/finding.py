"""What lint says: a finding at a place, or an error about a file that could not be looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "note"]
"""`error`: memory grows without end or results are wrong. `warning`: waste. `note`: worth a thought."""


@dataclass(frozen=True, order=True)
class Finding:
    """One place where something will go wrong. Lines and columns are counted from 1.

    >>> str(Finding("train.py", 3, 5, 3, 9, "PSK006", "warning", "shuffled late", "shuffle first"))
    'train.py:3:5: PSK006 shuffled late'
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    code: str
    level: Level
    message: str
    fix: str
    cell: int | None = None
    """The cell of a notebook, counted from 1; the line is counted within it."""

    @property
    def place(self) -> str:
        """Where it is, as editors and terminals understand it."""
        path = self.path if self.cell is None else f"{self.path}:cell {self.cell}"
        return f"{path}:{self.line}:{self.column}"

    def __str__(self) -> str:
        return f"{self.place}: {self.code} {self.message}"


@dataclass(frozen=True, order=True)
class Problem:
    """A path that could not be looked at, and why.

    >>> str(Problem("a.py", 3, "not Python: invalid syntax"))
    'a.py:3: not Python: invalid syntax'
    """

    path: str
    line: int | None
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"
