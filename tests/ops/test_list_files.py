"""`Dataset.list_files`: which files, in which order."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from contract.op_contract import OpContract
from penstock.sources import TextLineDataset

FOLDER = Path(tempfile.mkdtemp(prefix="penstock-files-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
for name in ("b.txt", "a.txt", "c.csv", "deep/d.txt", *(f"many/{i}" for i in range(40))):
    (FOLDER / name).parent.mkdir(exist_ok=True)
    (FOLDER / name).write_text(f"{name}\n")


def names(*given: str) -> list[str]:
    return [str(FOLDER / one) for one in given]


class TestListFiles(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "sorted": lambda: ps.Dataset.list_files(f"{FOLDER}/*.txt", shuffle=False),
            "shuffled": lambda: ps.Dataset.list_files(f"{FOLDER}/many/*"),
            "seeded": lambda: ps.Dataset.list_files(f"{FOLDER}/many/*", seed=3),
        }


@pytest.mark.parametrize(
    "pattern, found",
    [
        (f"{FOLDER}/*.txt", names("a.txt", "b.txt")),
        (FOLDER / "a.txt", names("a.txt")),
        ([f"{FOLDER}/c.*", f"{FOLDER}/[ac].*"], names("a.txt", "c.csv")),
        (f"{FOLDER}/**/*.txt", names("a.txt", "b.txt", "deep/d.txt")),
        (f"{FOLDER}/nothing*", None),
    ],
    ids=["files", "path", "list", "deep", "nothing"],
)
def test_given_a_pattern_then_its_files_come_sorted(pattern: Any, found: list[str] | None) -> None:
    ds = ps.Dataset.list_files(pattern, shuffle=False)
    if found is not None:
        assert list(ds) == found
        return
    with pytest.raises(
        ps.errors.StoreError, match=r"list_files at .*: expected files that match .*found none"
    ):
        list(ds)


def test_given_a_pattern_of_a_store_that_matches_nothing_then_no_folder_of_this_machine_is_named() -> None:
    with pytest.raises(
        ps.errors.StoreError, match=r"'memory://nothing/\*', found none\. Is the path right\?$"
    ):
        list(ps.Dataset.list_files("memory://nothing/*"))


def test_given_a_seed_then_the_order_is_its_own_and_another_in_the_next_epoch() -> None:
    def epochs() -> tuple[list[str], list[str]]:
        ds = ps.Dataset.list_files(f"{FOLDER}/many/*", seed=5)
        return list(ds), list(ds)

    first, second = epochs()
    assert (first, second) == epochs()
    assert first != second and sorted(first) == sorted(second) == sorted(
        names(*(f"many/{i}" for i in range(40)))
    )


def test_given_files_then_they_can_be_read() -> None:
    listed = ps.Dataset.list_files(f"{FOLDER}/*.txt", shuffle=False)
    assert list(TextLineDataset(listed)) == [b"a.txt", b"b.txt"]


def test_given_a_file_that_comes_later_then_the_next_iteration_has_it(tmp_path: Path) -> None:
    ds = ps.Dataset.list_files(f"{tmp_path}/*", shuffle=False)
    (tmp_path / "one").touch()
    assert len(list(ds)) == 1
    (tmp_path / "two").touch()
    assert len(list(ds)) == 2


def test_given_a_name_that_is_no_text_then_that_is_said(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff")).touch()
    with pytest.raises(ps.errors.StoreError, match="in UTF-8"):
        list(ps.Dataset.list_files(f"{tmp_path}/*"))


@pytest.mark.parametrize("given", [3, None, [], "", [3]])
def test_given_no_pattern_then_declaring_fails_with_the_users_line(given: Any) -> None:
    with pytest.raises(
        (TypeError, ValueError), match=r"list_files\(file_pattern=\) at .*test_list_files\.py:\d+"
    ):
        ps.Dataset.list_files(given)


@pytest.mark.parametrize("before", ["", "file://"])
def test_given_the_index_of_a_file_then_no_pattern_gives_it(tmp_path: Path, before: str) -> None:
    for name in ("some", ".some.penstock-index", "other.penstock-index"):
        (tmp_path / name).write_bytes(b"")
    for pattern in (f"{tmp_path}/*", f"{tmp_path}/[.so]*"):
        assert list(ps.Dataset.list_files(before + pattern, shuffle=False)) == [f"{before}{tmp_path}/some"]
    with pytest.raises(ps.errors.StoreError, match="found none"):
        list(ps.Dataset.list_files(f"{before}{tmp_path}/.*"))
