"""Which files a pipeline reads, and what of them has changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.io.stores import watched as watching
from penstock.io.stores.local import LocalFile
from penstock.io.stores.watched import REST, change, watched

MAKERS: dict[str, Callable[[str], ps.Dataset]] = {
    "tfrecord": ps.TFRecordDataset,
    "tfrecord in turn": lambda path: ps.TFRecordDataset([path], num_parallel_reads=2),
    "text": ps.TextLineDataset,
    "fixed length": lambda path: ps.FixedLengthRecordDataset(path, 4),
    "csv": lambda path: ps.CsvDataset(path, [np.int64]),
    "json lines": ps.JsonLinesDataset,
    "parquet": ps.ParquetDataset,
    "arrow": ps.ArrowDataset,
    "npy": ps.NpyDataset,
    "web": ps.WebDataset,
    "array record": ps.ArrayRecordDataset,
    "names that are listed": lambda path: ps.TFRecordDataset(ps.Dataset.list_files(path)),
    "files of the names that are listed": lambda path: ps.Dataset.list_files(path).interleave(
        ps.TFRecordDataset
    ),
    "one part of several": lambda path: ps.Dataset.zip(
        ps.Dataset.range(3), ps.TextLineDataset(path).batch(2)
    ),
    "as an address of this machine": lambda path: ps.TextLineDataset(f"file://{path}"),
}


def written(path: Path, text: str = "one") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def touched(path: str | Path) -> None:
    """Written to later, at the same size."""
    status = Path(path).stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


@pytest.mark.parametrize("kind", MAKERS)
def test_given_a_source_over_files_then_its_file_is_watched(kind: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a")
    with LocalFile(path) as file:
        assert watched(MAKERS[kind](path).op) == {path: file.stamp}


def test_given_the_same_files_then_nothing_has_changed(tmp_path: Path) -> None:
    ds = ps.TextLineDataset([written(tmp_path / "a"), written(tmp_path / "b")])
    assert change(watched(ds.op), watched(ds.op)) == ""


def test_given_a_file_of_another_time_or_size_then_it_is_named(tmp_path: Path) -> None:
    a, b = written(tmp_path / "a"), written(tmp_path / "b")
    ds = ps.TextLineDataset([a, b])
    before = watched(ds.op)
    touched(b)
    assert change(before, watched(ds.op)) == f"{b} has changed since"
    written(tmp_path / "a", "longer")
    assert change(before, watched(ds.op)) == f"{a} has changed since"


def test_given_a_pattern_when_a_file_comes_or_goes_then_it_is_named(tmp_path: Path) -> None:
    a, b = written(tmp_path / "a.txt"), written(tmp_path / "b.txt")
    ds = ps.TextLineDataset(ps.Dataset.list_files(str(tmp_path / "*.txt")))
    before = watched(ds.op)
    c = written(tmp_path / "c.txt")
    assert change(before, watched(ds.op)) == f"{c} has been added since"
    Path(c).unlink()
    Path(a).unlink()
    assert change(before, watched(ds.op)) == f"{a} is gone since"
    Path(b).unlink()
    assert change(before, watched(ds.op)) == ""  # none is left: there is nothing newer


def test_given_a_file_that_was_missing_then_that_it_comes_is_no_change(tmp_path: Path) -> None:
    a, b = written(tmp_path / "a"), str(tmp_path / "b")
    ds = ps.TextLineDataset([a, b])
    before = watched(ds.op)
    assert before[b] == ""
    written(Path(b))
    assert change(before, watched(ds.op)) == ""


def test_given_a_folder_of_pictures_then_its_classes_are_watched_with_all_that_is_in_them(
    tmp_path: Path,
) -> None:
    cat, inner = written(tmp_path / "cat" / "1.png"), written(tmp_path / "dog" / "more" / "2.png")
    ds = ps.ImageFolderDataset(str(tmp_path))
    before = watched(ds.op)
    assert list(before) == [str(tmp_path / "cat"), str(tmp_path / "dog")]
    assert change(before, watched(ds.op)) == ""
    touched(inner)
    assert change(before, watched(ds.op)) == f"{tmp_path / 'dog'} has changed since"
    before = watched(ds.op)
    Path(cat).rename(tmp_path / "cat" / "3.png")
    assert change(before, watched(ds.op)) == f"{tmp_path / 'cat'} has changed since"
    before = watched(ds.op)
    written(tmp_path / "owl" / "4.png")
    assert change(before, watched(ds.op)) == f"{tmp_path / 'owl'} has been added since"


def test_given_a_folder_that_is_not_there_then_that_is_left_to_the_run(tmp_path: Path) -> None:
    assert watched(ps.ImageFolderDataset(str(tmp_path / "none")).op) == {str(tmp_path / "none"): ""}


def test_given_more_files_than_are_kept_by_name_then_a_change_of_any_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "MOST", 2)
    paths = [written(tmp_path / str(number)) for number in range(5)]
    ds = ps.TextLineDataset(paths)
    before = watched(ds.op)
    assert list(before) == [*paths[:2], REST]
    assert change(before, watched(ds.op)) == ""
    touched(paths[4])
    assert change(before, watched(ds.op)) == f"{REST} has changed since"
    for path in paths:
        Path(path).unlink()
    assert change(before, watched(ds.op)) == ""


def test_given_files_of_a_store_or_a_name_that_no_file_can_have_then_none_is_asked_for(
    tmp_path: Path,
) -> None:
    far = ps.TextLineDataset("s3://nowhere/a").concatenate(
        ps.TextLineDataset(ps.Dataset.list_files("s3://nowhere/*"))
    )
    assert watched(far.op) == {}
    assert watched(ps.TextLineDataset("\ud800").op) == {"\ud800": ""}


def test_given_a_name_that_is_not_text_then_it_is_watched(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff"
    Path(os.fsdecode(name)).write_text("one")
    found = watched(ps.TextLineDataset([name]).op)
    assert list(found) == [os.fsdecode(name)] and all(found.values())


def test_given_a_dataset_that_is_used_many_times_over_then_it_is_looked_at_once(tmp_path: Path) -> None:
    ds = ps.TextLineDataset(written(tmp_path / "a"))
    for _ in range(60):
        ds = ds.concatenate(ds)
    assert len(watched(ds.op)) == 1
