"""A disk that is full, or a file that may not grow: an error, nothing damaged, and gone on with later."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.errors import StoreError
from penstock.io.stores.writing import LocalWriting
from writing import interrupted
from writing.test_resume import content, said


def noise() -> ps.Dataset:
    data = np.random.default_rng(1).integers(0, 256, (300, 10_000), np.uint8)
    return ps.Dataset.from_tensor_slices([bytes(row) for row in data])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root may mount a small disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_given_a_full_disk_when_there_is_room_again_then_the_same_call_goes_on(
    compression: str | None, small_disk: Path, tmp_path: Path
) -> None:
    folder = small_disk / "data"
    with pytest.raises(StoreError, match="Make room") as caught:
        noise().write_tfrecord(folder, shards=10, compression=compression)
    assert caught.value.errno == errno.ENOSPC
    assert any("goes on" in note for note in caught.value.__notes__)
    there = content(folder)
    noise().write_tfrecord(tmp_path / "whole", shards=10, compression=compression)
    whole = content(tmp_path / "whole")
    assert there.pop("manifest.json") != whole["manifest.json"]
    assert len(there) == len(said(folder)["shards"]) >= 1
    assert all(data == whole[name] for name, data in there.items())
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    noise().write_tfrecord(folder, shards=10, compression=compression)
    assert content(folder) == whole


def test_given_a_limit_on_files_then_the_error_says_so_and_nothing_is_left_half_done(tmp_path: Path) -> None:
    words = [sys.executable, interrupted.__file__, str(tmp_path), "shards", "", "limit:5000"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.startswith(f"StoreError {errno.EFBIG} ")
    assert "0 shards are complete" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("times", range(1, 9))
def test_given_an_error_at_any_publication_then_the_same_call_goes_on_to_the_same_files(
    times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, count = LocalWriting._publish, 0

    def fail_once(self: LocalWriting) -> None:
        nonlocal count
        count += 1
        if count == times:
            raise OSError(errno.EIO, "the disk is ill")
        publish(self)

    monkeypatch.setattr(LocalWriting, "_publish", fail_once)
    with pytest.raises(StoreError, match="the disk is ill"):
        noise().write_tfrecord(tmp_path / "data", shards=3)
    assert not list((tmp_path / "data").glob(".*"))
    noise().write_tfrecord(tmp_path / "data", shards=3)
    noise().write_tfrecord(tmp_path / "whole", shards=3)
    assert content(tmp_path / "data") == content(tmp_path / "whole")
