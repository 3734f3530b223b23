"""What is asked for: the table `[tool.penstock.lint]` of a `pyproject.toml`, and the command line over it."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock.doctor.lint.rules import rules
from penstock.errors import ArgumentError


@dataclass(frozen=True)
class Config:
    """Which rules to use on which files.

    >>> Config(ignore=("PSK1",)).codes("train.py")[:3]
    ['PSK001', 'PSK002', 'PSK003']
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    root: Path | None = None
    """The folder of the project, from which the patterns of `per_file_ignores` start."""

    def codes(self, path: str) -> list[str]:
        """The codes of the rules for a file; a code stands for all that begin with it."""
        chosen = expand(self.select) if self.select else set(rules())
        chosen -= expand(self.ignore)
        names = self._names(Path(path)) if self.per_file_ignores else []
        for pattern, ignored in self.per_file_ignores.items():
            if any(fnmatch.fnmatch(name, pattern) for name in names):
                chosen -= expand(ignored)
        return sorted(chosen)

    def _names(self, path: Path) -> list[str]:
        whole = path.resolve()
        inner = (
            [whole.relative_to(self.root).as_posix()] if self.root and whole.is_relative_to(self.root) else []
        )
        return [path.name, path.as_posix(), *inner]

    def over(
        self, select: Iterable[str] | None, ignore: Iterable[str] | None, exclude: Iterable[str] | None
    ) -> Config:
        """This with what the command line says; it replaces `select` and adds to the others."""
        return replace(
            self,
            select=tuple(select) if select else self.select,
            ignore=(*self.ignore, *(ignore or ())),
            exclude=(*self.exclude, *(exclude or ())),
        )


def expand(codes: Iterable[str]) -> set[str]:
    """The codes that begin with one of these.

    >>> sorted(expand(["PSK00"]))[:2]
    ['PSK001', 'PSK002']
    >>> expand(["E501"])
    Traceback (most recent call last):
      ...
    penstock.errors.ArgumentError: no rule begins with 'E501': codes are PSK001, ...
    """
    found: set[str] = set()
    for code in codes:
        meant = {known for known in rules() if known.startswith(code.upper())} if code else set()
        if code.upper() == "ALL":
            meant = set(rules())
        if not meant:
            raise ArgumentError(f"no rule begins with {code!r}: codes are {', '.join(sorted(rules()))}")
        found |= meant
    return found


def load(start: Path) -> Config:
    """The table of the nearest `pyproject.toml` that has one, from a folder upwards."""
    folder = start.resolve()
    for one in [folder, *folder.parents]:
        path = one / "pyproject.toml"
        if path.is_file():
            table = _table(path)
            if table is not None:
                return parse(table, path)
    return Config()


def _table(path: Path) -> dict[str, Any] | None:
    try:
        whole = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ArgumentError(f"{path}: {error}") from None
    table = whole.get("tool", {}).get("penstock", {}).get("lint")
    if table is not None and not isinstance(table, dict):
        raise ArgumentError(f"{path}: [tool.penstock.lint] is to be a table, got {type(table).__name__}")
    return table


def parse(table: Mapping[str, Any], path: Path) -> Config:
    """A table as a `Config`; `ArgumentError` on what it does not know."""
    known = {"select", "ignore", "exclude", "per-file-ignores"}
    if unknown := sorted(set(table) - known):
        raise ArgumentError(
            f"{path}: [tool.penstock.lint] knows {', '.join(sorted(known))}, not {', '.join(unknown)}"
        )
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise ArgumentError(f"{path}: per-file-ignores is to be a table of lists, got {per_file!r}")
    made = Config(
        select=_strings(table, "select", path),
        ignore=_strings(table, "ignore", path),
        exclude=_strings(table, "exclude", path),
        per_file_ignores={name: _strings(per_file, name, path) for name in per_file},
        root=path.parent,
    )
    try:
        expand(
            [
                *made.select,
                *made.ignore,
                *(code for codes in made.per_file_ignores.values() for code in codes),
            ]
        )
    except ArgumentError as error:
        raise ArgumentError(f"{path}: {error}") from None
    return made


def _strings(table: Mapping[str, Any], name: str, path: Path) -> tuple[str, ...]:
    value = table.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ArgumentError(f"{path}: {name} is to be a list of strings, got {value!r}")
    return tuple(value)
