"""Files that are not there or cannot be read: the error names the source, the user's line and the file."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps

SOURCES: dict[str, Callable[[str], ps.Dataset]] = {
    "TFRecordDataset": ps.TFRecordDataset,
    "TFRecordDataset, shuffled": lambda path: ps.TFRecordDataset(path).shuffle(),
    "TextLineDataset": ps.TextLineDataset,
    "CsvDataset": lambda path: ps.CsvDataset(path, [np.int64]),
    "NpyDataset": ps.NpyDataset,
    "NpyDataset, shuffled": lambda path: ps.NpyDataset(path).shuffle(3),
    "ArrayRecordDataset": ps.ArrayRecordDataset,
    "ImageFolderDataset": ps.ImageFolderDataset,
}


@pytest.mark.parametrize("source", SOURCES)
def test_given_a_path_where_nothing_is_then_the_error_names_the_source_the_line_and_the_path(
    tmp_path: Path, source: str
) -> None:
    path = str(tmp_path / "none")
    with pytest.raises(ps.errors.StoreError, match="No such file") as caught:
        list(SOURCES[source](path))
    assert re.match(rf"{source.partition(',')[0]} at \S*test_missing_files\.py:\d+: ", str(caught.value))
    assert (caught.value.file, caught.value.errno) == (path, errno.ENOENT)


def test_given_a_disk_that_fails_in_the_middle_then_the_error_names_the_source_and_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(b"a\nb\n")

    def fails(*_: Any) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    it = iter(ps.TextLineDataset(path))
    monkeypatch.setattr(os, "preadv", fails)
    with pytest.raises(ps.errors.StoreError, match=r"^TextLineDataset at \S*:\d+: ") as caught:
        next(it)
    assert (caught.value.file, caught.value.errno) == (str(path), errno.EIO)
    assert isinstance(caught.value.__cause__, OSError)
