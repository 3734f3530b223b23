"""Many files through the rules."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from penstock.doctor.lint.check import lint_source
from penstock.doctor.lint.config import Config
from penstock.doctor.lint.finding import Finding, Problem
from penstock.doctor.lint.source import Source, read_source
from penstock.doctor.lint.walk import files

TOGETHER = 100
"""After so many files, what they have left behind is collected."""


@dataclass
class Outcome:
    """What came of a run: the findings, what could not be looked at, and how many files were."""

    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    files: int = 0

    @property
    def status(self) -> int:
        """What the command exits with: 0 clean, 1 findings, 2 something could not be looked at.

        >>> Outcome().status, Outcome(problems=[Problem("a.py", None, "no such file or folder")]).status
        (0, 2)
        """
        return 2 if self.problems else 1 if self.findings else 0


def lint_paths(
    paths: Sequence[str], config: Config | None = None, progress: Callable[[int, str], None] | None = None
) -> Outcome:
    """Look at files and folders.

    >>> lint_paths(["nowhere.py"]).problems
    [Problem(path='nowhere.py', line=None, message='no such file or folder')]
    """
    asked = config or Config()
    outcome = Outcome()
    was_on = gc.isenabled()
    # Trees of syntax are millions of small objects without cycles: collecting takes longer than parsing.
    gc.disable()
    try:
        _all(paths, asked, outcome, progress)
    finally:
        if was_on:
            gc.enable()
    return outcome


def _all(
    paths: Sequence[str], asked: Config, outcome: Outcome, progress: Callable[[int, str], None] | None
) -> None:
    for path in files(paths, asked.exclude):
        if isinstance(path, Problem):
            outcome.problems.append(path)
            continue
        shown = str(path)
        if progress is not None:
            progress(outcome.files, shown)
        outcome.files += 1
        if outcome.files % TOGETHER == 0:
            gc.collect()
        source = read_source(path, shown)
        if isinstance(source, Problem):
            outcome.problems.append(source)
            continue
        for one in _lint(source, asked.codes(shown)):
            if isinstance(one, Finding):
                outcome.findings.append(one)
            else:
                outcome.problems.append(one)


def _lint(source: Source, codes: list[str]) -> Iterator[Finding | Problem]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the user's code: not what was asked for
            yield from lint_source(source, codes)
    except SyntaxError as error:
        cell, first = source.cell(error.lineno or 1)
        where = "" if cell is None else f"in cell {cell}, "
        line = None if error.lineno is None else error.lineno - first
        yield Problem(source.path, line, f"{where}not Python: {error.msg}")
    except ValueError as error:
        yield Problem(source.path, None, f"not Python: {error}")
    except RecursionError:
        yield Problem(source.path, None, "nested too deeply to be looked at")
