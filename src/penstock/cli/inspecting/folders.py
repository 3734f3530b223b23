"""Folders that are one thing: a data set that Penstock has written, or pictures by class."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.cli.inspecting.findings import Finding
from penstock.cli.inspecting.looking import Looking


def inspect_folder(path: str, looking: Looking) -> Iterator[Finding] | None:
    """What such a folder is; None if it is just a folder with files."""
    return None
