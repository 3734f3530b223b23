"""Rows in a file that outlives the process, where it cannot be written."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

import penstock as ps


def test_given_a_disk_that_is_read_only_then_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EROFS, "Read-only file system")

    ds = ps.Dataset.range(5).cache(str(tmp_path / "kept"))
    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(ps.errors.PenstockError, match=r"kept.*: Read-only file system\. Make room there"):
        list(ds)
