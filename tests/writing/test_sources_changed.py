"""What was written is not gone on with, or served, over files that have changed since."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import ArgumentError, FunctionError, StoreError

N = 60
STOP: list[bytes] = []
"""Of the module, and not of a function: what a function has taken from another one tells it apart."""

Write = Callable[..., Any]


def fails(record: bytes) -> bytes:
    if record in STOP:
        raise ValueError("not now")
    return record


def records(path: Path, letter: str, count: int = N) -> None:
    with ps.io.TFRecordWriter(str(path)) as writer:
        for number in range(count):
            writer.write(f"{letter}{number}".encode())


def write_tfrecord(ds: ps.Dataset, folder: Path, **more: Any) -> Any:
    return ds.write_tfrecord(folder, shard_bytes=400, **more)


def save(ds: ps.Dataset, folder: Path, **more: Any) -> Any:
    return ds.save(folder, shard_bytes=400, **more)


def content(folder: Path) -> list[bytes]:
    if found := sorted(map(str, folder.glob("*.tfrecord"))):
        return list(ps.TFRecordDataset(found))
    return list(ps.Dataset.load(folder))


def said(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / "manifest.json").read_text())
    kept: dict[str, Any] = found.get("saved", found)
    return kept


@pytest.fixture(autouse=True)
def no_stop() -> None:
    STOP.clear()


@pytest.fixture(params=[write_tfrecord, save], ids=["write_tfrecord", "save"])
def write(request: pytest.FixtureRequest) -> Write:
    made: Write = request.param
    return made


@pytest.fixture
def begun(write: Write, tmp_path: Path) -> ps.Dataset:
    """A dataset over `source`, of which a part was written to `out` before it failed."""
    records(tmp_path / "source", "a")
    ds = ps.TFRecordDataset(str(tmp_path / "source")).batch(1).unbatch().map(fails)
    STOP.append(f"a{N * 2 // 3}".encode())
    with pytest.raises(FunctionError):
        write(ds.with_options(ps.Options(block_rows=4)), tmp_path / "out")
    STOP.clear()
    assert said(tmp_path / "out")["shards"]
    return ds


def test_given_a_source_that_changed_after_a_failure_when_called_again_then_it_is_refused_and_named(
    begun: ps.Dataset, write: Write, tmp_path: Path
) -> None:
    before = said(tmp_path / "out")
    records(tmp_path / "source", "bb")
    with pytest.raises(ArgumentError, match=r"source has changed since.*overwrite=True") as raised:
        write(begun, tmp_path / "out")
    assert Path(__file__).name in str(raised.value)
    assert said(tmp_path / "out") == before
    assert write(begun, tmp_path / "out", overwrite=True).elements == N
    assert content(tmp_path / "out") == [f"bb{number}".encode() for number in range(N)]


def test_given_a_source_as_it_was_when_called_again_then_it_goes_on(
    begun: ps.Dataset, write: Write, tmp_path: Path
) -> None:
    shards = said(tmp_path / "out")["shards"]
    assert write(begun, tmp_path / "out").elements == N
    assert said(tmp_path / "out")["shards"][: len(shards)] == shards
    assert content(tmp_path / "out") == [f"a{number}".encode() for number in range(N)]


def test_given_a_source_that_is_gone_after_a_failure_then_the_run_says_so(
    begun: ps.Dataset, write: Write, tmp_path: Path
) -> None:
    (tmp_path / "source").unlink()
    with pytest.raises(StoreError, match="source"):
        write(begun, tmp_path / "out")


def test_given_a_complete_folder_when_the_source_has_grown_then_it_is_refused(
    write: Write, tmp_path: Path
) -> None:
    records(tmp_path / "source", "a")
    ds = ps.TFRecordDataset(str(tmp_path / "source"))
    write(ds, tmp_path / "out")
    assert write(ds, tmp_path / "out").elements == N  # as it was
    records(tmp_path / "source", "a", 2 * N)
    with pytest.raises(ArgumentError, match=r"source has changed since"):
        write(ds, tmp_path / "out")
    assert write(ds, tmp_path / "out", overwrite=True).elements == 2 * N
    assert write(ds, tmp_path / "out").elements == 2 * N


def test_given_a_pattern_when_a_file_has_been_added_then_it_is_refused(write: Write, tmp_path: Path) -> None:
    records(tmp_path / "1.in", "a")
    ds = ps.TFRecordDataset(ps.Dataset.list_files(str(tmp_path / "*.in"), shuffle=False))
    write(ds, tmp_path / "out")
    records(tmp_path / "2.in", "b")
    with pytest.raises(ArgumentError, match=r"2\.in has been added since"):
        write(ds, tmp_path / "out")


def test_given_a_complete_folder_when_the_source_is_gone_then_it_is_done(
    write: Write, tmp_path: Path
) -> None:
    records(tmp_path / "source", "a")
    ds = ps.TFRecordDataset(str(tmp_path / "source"))
    write(ds, tmp_path / "out")
    (tmp_path / "source").unlink()
    assert write(ds, tmp_path / "out").elements == N
    records(tmp_path / "source", "bb")  # and it has not been forgotten
    with pytest.raises(ArgumentError, match="source has changed since"):
        write(ds, tmp_path / "out")


def test_given_a_second_file_that_was_missing_when_it_is_there_then_it_goes_on_and_is_watched(
    write: Write, tmp_path: Path
) -> None:
    records(tmp_path / "1", "a")
    ds = ps.TFRecordDataset([str(tmp_path / "1"), str(tmp_path / "2")])
    with pytest.raises(StoreError):
        write(ds.with_options(ps.Options(block_rows=4)), tmp_path / "out")
    records(tmp_path / "2", "b")
    assert write(ds, tmp_path / "out").elements == 2 * N
    records(tmp_path / "2", "cc")
    with pytest.raises(ArgumentError, match="2 has changed since"):
        write(ds, tmp_path / "out")


def test_given_a_manifest_without_sources_then_it_is_read_and_nothing_is_compared(
    tmp_path: Path,
) -> None:
    records(tmp_path / "source", "a")
    ds = ps.TFRecordDataset(str(tmp_path / "source"))
    write_tfrecord(ds, tmp_path / "out")
    older = said(tmp_path / "out")
    del older["sources"]
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(older))
    records(tmp_path / "source", "bb")
    assert write_tfrecord(ds, tmp_path / "out").elements == N


class TestSnapshot:
    def test_given_a_source_that_changed_then_the_snapshot_is_not_served_until_its_folder_is_deleted(
        self, tmp_path: Path
    ) -> None:
        records(tmp_path / "source", "a")
        ds = ps.TFRecordDataset(str(tmp_path / "source")).map(fails).snapshot(tmp_path / "kept")
        first = list(ds)
        assert list(ds) == first == [f"a{number}".encode() for number in range(N)]
        records(tmp_path / "source", "bb")
        with pytest.raises(ArgumentError, match=r"source has changed since.*Delete the folder") as raised:
            list(ds)
        assert Path(__file__).name in str(raised.value)
        assert list(ps.Dataset.load(tmp_path / "kept")) == first  # as the message says
        for path in (tmp_path / "kept").iterdir():
            path.unlink()
        assert list(ds) == list(ds) == [f"bb{number}".encode() for number in range(N)]

    def test_given_a_source_that_is_gone_then_the_snapshot_is_served(self, tmp_path: Path) -> None:
        records(tmp_path / "source", "a")
        ds = ps.TFRecordDataset(str(tmp_path / "source")).snapshot(tmp_path / "kept")
        first = list(ds)
        (tmp_path / "source").unlink()
        assert list(ds) == first

    def test_given_a_source_that_changes_in_the_pass_that_writes_then_the_next_one_says_so(
        self, tmp_path: Path
    ) -> None:
        records(tmp_path / "source", "a")
        ds = ps.TFRecordDataset(str(tmp_path / "source")).snapshot(tmp_path / "kept")
        it = iter(ds)
        next(it)
        records(tmp_path / "source.new", "bb")
        (tmp_path / "source.new").replace(tmp_path / "source")
        list(it)
        with pytest.raises(ArgumentError, match="source has changed since"):
            list(ds)
