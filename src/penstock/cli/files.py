"""What the commands ask of files that they write."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import PenstockError


def can_write(path: Path) -> None:
    """An error if a file cannot be made there, before there is anything to lose."""
    folder = path.absolute().parent
    if path.is_dir():
        raise PenstockError(f"Expected a file to write to, got {str(path)!r}: that is a folder.")
    if not folder.is_dir():
        raise PenstockError(
            f"Expected a file to write to, got {str(path)!r}: there is no folder {str(folder)!r}. "
            f"Make it first."
        )
