"""What `penstock inspect` finds, without a terminal, and damage done to files on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.cli.inspecting.findings import Column, Finding
from penstock.cli.inspecting.groups import inspect_paths
from penstock.cli.inspecting.looking import Looking


def look(*paths: Path | str, **asked: Any) -> list[Finding]:
    """All that is found in these paths."""
    return list(inspect_paths([str(path) for path in paths], Looking(**asked)))


def look_one(path: Path | str, **asked: Any) -> Finding:
    """What is found in a path, where that is one thing."""
    (found,) = look(path, **asked)
    return found


def by_name(found: Finding) -> dict[str, Column]:
    """The columns by their names."""
    return {column.name: column for column in found.columns}


def flip(path: Path, at: int) -> None:
    """Change one byte of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)


def cut(path: Path, size: int) -> None:
    """Keep the first bytes of a file."""
    path.write_bytes(path.read_bytes()[:size])
