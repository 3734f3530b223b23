"""The files to look at: those named, and those in folders that are the user's own."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from penstock.doctor.lint.finding import Problem

SKIPPED = frozenset(
    [
        ".git",
        ".hg",
        ".svn",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        ".eggs",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".ipynb_checkpoints",
        "__pycache__",
        "node_modules",
        "site-packages",
        "build",
        "dist",
    ]
)
SUFFIXES = frozenset([".py", ".ipynb"])


def files(paths: Sequence[str], exclude: Sequence[str] = ()) -> Iterator[Path | Problem]:
    """The files under paths, each once, in the order of their names.

    Folders are searched for `.py` and `.ipynb`; environments, caches and version control are left out.
    """
    seen: set[Path] = set()
    for given in paths:
        path = Path(given)
        if path.is_dir():
            found: Iterator[Path] = _within(path, exclude)
        elif path.exists():
            found = iter([path])
        else:
            yield Problem(given, None, "no such file or folder")
            continue
        for one in found:
            real = one.resolve()
            if real not in seen:
                seen.add(real)
                yield one


def _within(folder: Path, exclude: Sequence[str]) -> Iterator[Path]:
    for where, folders, names in os.walk(folder):
        here = Path(where)
        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED
            and not (here / name / "pyvenv.cfg").exists()
            and not excluded(here / name, folder, exclude)
        )
        for name in sorted(names):
            path = here / name
            if path.suffix in SUFFIXES and not excluded(path, folder, exclude):
                yield path


def excluded(path: Path, folder: Path, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns means this path: its name, or its way from the folder that is searched.

    >>> [excluded(Path(path), Path("a"), ["tests/*"]) for path in ("a/tests/x.py", "a/x.py")]
    [True, False]
    """
    inner = path.relative_to(folder).as_posix()
    names = (path.name, inner, path.as_posix())
    return any(fnmatch.fnmatch(name, pattern.rstrip("/")) for name in names for pattern in patterns)
