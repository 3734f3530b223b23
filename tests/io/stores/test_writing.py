"""Files that are published as a whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

import penstock as ps
from penstock.io.stores.opening import open_stored
from penstock.io.stores.writing import BUFFER, open_for_writing

DATA = bytes(range(251)) * (3 * BUFFER // 251)


@pytest.fixture(params=["path", "file://", "memory://"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A folder, as a path or an address."""
    fs = fsspec.filesystem("memory")
    yield {"path": str(tmp_path), "file://": f"file://{tmp_path}", "memory://": "memory://folder"}[
        request.param
    ]
    fs.store.clear()
    fs.pseudo_dirs[:] = [""]


def names(place: str) -> list[str]:
    fs, folder = fsspec.core.url_to_fs(place)
    return sorted(name.rpartition("/")[2] for name in fs.find(folder))


def content(place: str) -> bytes:
    with open_stored(place) as stored:
        return stored.read(0, stored.size)


@pytest.mark.parametrize("step", [1000, BUFFER - 1, BUFFER, len(DATA)])
def test_when_a_file_is_committed_then_all_its_bytes_are_there(place: str, step: int) -> None:
    with open_for_writing(f"{place}/a.bin") as file:
        for at in range(0, len(DATA), step):
            assert file.tell() == at
            assert file.write(memoryview(DATA)[at : at + step]) == len(DATA[at : at + step])
    assert content(f"{place}/a.bin") == DATA
    assert names(place) == ["a.bin"]


def test_given_an_older_file_then_it_is_there_until_the_commit(place: str) -> None:
    with open_for_writing(f"{place}/a.bin") as file:
        file.write(b"old")
    with open_for_writing(f"{place}/a.bin") as file:
        file.write(DATA)
        assert content(f"{place}/a.bin") == b"old"
    assert content(f"{place}/a.bin") == DATA


@pytest.mark.parametrize("how", ["error", "discard", "close"])
def test_when_a_file_is_not_committed_then_everything_is_as_it_was(place: str, how: str) -> None:
    with open_for_writing(f"{place}/a.bin") as file:
        file.write(b"old")
    if how == "error":
        with pytest.raises(KeyError), open_for_writing(f"{place}/a.bin") as file:
            file.write(DATA)
            raise KeyError
    else:
        file = open_for_writing(f"{place}/a.bin")
        file.write(DATA)
        (file.discard if how == "discard" else file.close)()
    assert names(place) == ["a.bin"]
    assert content(f"{place}/a.bin") == b"old"
    file.discard()
    with pytest.raises(ValueError, match="already"):
        file.commit()
    with pytest.raises(ValueError, match="already"):
        file.write(b"x")


def test_given_a_link_then_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "a.bin")
    with open_for_writing(str(tmp_path / "link")) as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "a.bin").read_bytes() == b"new"


def test_given_no_such_folder_then_the_error_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(ps.errors.StoreError, match=r"nowhere/a\.bin") as caught:
        open_for_writing(f"{tmp_path}/nowhere/a.bin")
    assert caught.value.errno == errno.ENOENT


def test_given_the_name_of_a_folder_then_committing_fails_and_leaves_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(ps.errors.StoreError, match="publish"), open_for_writing(f"{tmp_path}/a") as file:
        file.write(b"x")
    assert os.listdir(tmp_path) == ["a"]  # noqa: PTH208


LIMITED = """
import os, resource, sys
import penstock as ps
from penstock.io.stores.writing import open_for_writing
path, step = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
try:
    with open_for_writing(path) as file:
        for _ in range(0, 4_000_000, step):
            file.write(bytes(step))
except ps.errors.StoreError as error:
    print(error.errno, error.file, error.offset <= 4_000_000, error)
print(os.listdir(os.path.dirname(path)), open(path, "rb").read())
"""


@pytest.mark.parametrize("step", [1000, 4_000_000])
def test_given_a_store_that_is_full_then_the_error_says_so_and_nothing_is_damaged(
    tmp_path: Path, step: int
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), str(step)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    error, after = done.stdout.splitlines()
    assert error.startswith(f"{errno.EFBIG} {path} True {path} at byte ")
    assert "Make room" in error
    assert after == "['a.bin'] b'old'"


def test_given_a_full_device_when_it_is_committed_then_the_error_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    file: Any = open_for_writing(str(path))
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, file._file.fileno())
    os.close(full)
    file.write(b"small")
    with pytest.raises(ps.errors.StoreError, match="No space left") as caught:
        file.commit()
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]  # noqa: PTH208
