"""Source files: read in the encoding they declare; notebooks as the cells they are made of."""

from __future__ import annotations

import io
import json
import tokenize
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from penstock.doctor.lint.finding import Problem


@dataclass(frozen=True)
class Source:
    """The text of a file, and where the cells begin if it is a notebook."""

    path: str
    text: str
    cells: tuple[tuple[int, int], ...] = ()
    """For each cell with code: its number in the notebook, and how many lines come before it in `text`."""

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.splitlines()

    def cell(self, line: int) -> tuple[int | None, int]:
        """The cell that a line is in, if there are cells, and how many lines come before it."""
        best: tuple[int | None, int] = (None, 0)
        for number, first in self.cells:
            if first < line:
                best = (number, first)
        return best

    def cell_start(self, cell: int | None) -> tuple[int | None, int]:
        """How many lines come before a cell."""
        return next(((number, first) for number, first in self.cells if number == cell), (None, 0))


def read_source(path: Path, shown: str) -> Source | Problem:
    """Read a file; what is wrong with it if it cannot be read as text."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        return Problem(shown, None, f"cannot be read: {error.strerror or error}")
    if path.suffix == ".ipynb":
        return _notebook(raw, shown)
    return _python(raw, shown)


def _python(raw: bytes, shown: str) -> Source | Problem:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        return Problem(shown, None, f"cannot be read as text: {error}")
    return Source(shown, text.replace("\r\n", "\n").replace("\r", "\n"))


def _notebook(raw: bytes, shown: str) -> Source | Problem:
    try:
        cells = json.loads(raw)["cells"]
        found = [
            (number, "".join(cell["source"]))
            for number, cell in enumerate(cells, 1)
            if cell["cell_type"] == "code"
        ]
    except (ValueError, KeyError, TypeError) as error:
        return Problem(shown, None, f"not a notebook of format 4: {type(error).__name__}: {error}")
    lines: list[str] = []
    starts: list[tuple[int, int]] = []
    for number, text in found:
        if text.lstrip().startswith("%%"):
            continue  # a cell in another language, or to be timed
        starts.append((number, len(lines)))
        lines += [_plain(line) for line in text.splitlines()]
    return Source(shown, "\n".join(lines) + "\n", tuple(starts))


def _plain(line: str) -> str:
    """A line of a notebook as Python: commands to the shell and to the notebook do nothing."""
    bare = line.lstrip()
    return line[: len(line) - len(bare)] + "pass" if bare.startswith(("%", "!", "?")) else line
