"""`save`: written whole or gone on with, and never over what is not its own."""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import drain, same
from contract.saved_rows import every_kind
from contract.streams import failing
from engine.leftovers import descriptors
from penstock.errors import ArgumentError, ArgumentTypeError, FunctionError, StoreError
from penstock.io.stores.writing import LocalWriting
from writing import saving

CALLS: list[int] = []
BROKEN: list[int] = []
"""Of the module, and not of a function: what a function has taken from another one tells it apart."""


def process(folder: Path, when: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, saving.__file__, str(folder), when]
    paths = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, env=paths)


def said(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())["saved"]
    return found


def counted(x: Any) -> Any:
    CALLS.append(int(x))
    return x


def fails(x: Any) -> Any:
    if int(x) in BROKEN:
        raise ValueError("not now")
    return x


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What a run that nobody interrupts has saved."""
    folder = tmp_path_factory.mktemp("whole")
    written = saving.save(str(folder))
    assert len(written.shards) > 5
    return drain(ps.Dataset.load(folder), limit=1000)


KILLS = ["element:0", "element:200", "element:399", "before:1", "after:1", "before:2", "before:5", "after:5"]


@pytest.mark.parametrize("when", KILLS)
def test_given_a_kill_then_the_same_call_goes_on_to_the_same_elements(
    when: str, whole: list[Any], tmp_path: Path
) -> None:
    done = process(tmp_path, when)
    assert done.returncode == -signal.SIGKILL, done.stderr
    complete = {path: path.stat().st_ino for path in tmp_path.glob("saved-*.blocks")}
    listed = 0
    if (tmp_path / "manifest.json").exists():
        listed = len(said(tmp_path)["shards"])
        with pytest.raises(ArgumentError, match="was not saved to its end"):
            ps.Dataset.load(tmp_path)
    assert listed <= len(complete) <= listed + 1
    written = saving.save(str(tmp_path))
    assert written.elements == saving.N
    assert same(drain(ps.Dataset.load(tmp_path), limit=1000), whole)
    kept = sum(path.exists() and path.stat().st_ino == inode for path, inode in complete.items())
    assert kept >= listed
    assert not list(tmp_path.glob(".*"))
    assert ps.Dataset.load(tmp_path).element_spec["wide"] == ps.TensorSpec((None,), np.int64)


def test_given_a_limit_on_files_then_the_error_says_so_and_nothing_is_left_half_done(tmp_path: Path) -> None:
    done = process(tmp_path, "limit:5000")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"StoreError {errno.EFBIG} ")
    assert "0 shards are complete; the same call goes on after them" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("times", [1, 2, 3, 5])
def test_given_a_disk_that_fails_at_any_publication_then_the_same_call_goes_on(
    times: int, whole: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, count = LocalWriting._publish, 0

    def fail_once(self: LocalWriting) -> None:
        nonlocal count
        count += 1
        if count == times:
            raise OSError(errno.ENOSPC, "No space left on device")
        publish(self)

    monkeypatch.setattr(LocalWriting, "_publish", fail_once)
    with pytest.raises(StoreError, match=r"No space left on device.*Make room"):
        saving.save(str(tmp_path))
    assert not list(tmp_path.glob(".*"))
    saving.save(str(tmp_path))
    assert same(drain(ps.Dataset.load(tmp_path), limit=1000), whole)


def test_given_a_function_that_fails_on_the_way_then_the_same_call_goes_on_after_the_complete_files(
    tmp_path: Path,
) -> None:
    ds = ps.Dataset.range(1000).map(fails)
    BROKEN.append(700)
    with pytest.raises(FunctionError, match="not now") as caught:
        ds.save(tmp_path, shard_bytes=1000, memory="1MiB")
    BROKEN.clear()
    assert any("the same call goes on after them" in note for note in caught.value.__notes__)
    before = said(tmp_path)["shards"]
    assert 0 < sum(shard["rows"] for shard in before) <= 700
    ds.save(tmp_path, shard_bytes=1000, memory="1MiB")
    assert said(tmp_path)["shards"][: len(before)] == before
    assert [int(x) for x in ps.Dataset.load(tmp_path)] == list(range(1000))


def test_given_a_complete_dataset_when_saved_again_then_nothing_is_run(tmp_path: Path) -> None:
    ds = ps.Dataset.range(30).map(counted)
    first = ds.save(tmp_path)
    CALLS.clear()
    again = ds.save(tmp_path)
    assert (again.elements, again.shards, CALLS) == (30, first.shards, [])


def test_given_another_pipeline_then_it_is_refused_unless_it_starts_anew(tmp_path: Path) -> None:
    ps.Dataset.range(30).save(tmp_path)
    with pytest.raises(
        ArgumentError,
        match=r"save\(directory=\) at .*test_save.py:\d+: .*has range\(30\) where.*overwrite=True",
    ):
        ps.Dataset.range(31).save(tmp_path)
    with pytest.raises(ArgumentError, match=r"written with the seed 0, and this call has 5"):
        ps.Dataset.range(30).save(tmp_path, seed=5)
    assert len(ps.Dataset.load(tmp_path)) == 30
    opened = iter(ps.Dataset.load(tmp_path))
    ps.Dataset.range(31).save(tmp_path, overwrite=True)
    assert len(ps.Dataset.load(tmp_path)) == 31
    assert len(list(tmp_path.glob("*.blocks"))) == 1
    opened.close()


@pytest.mark.parametrize("overwrite", [False, True])
def test_given_a_folder_with_other_files_then_it_is_refused_and_left_alone(
    overwrite: bool, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ArgumentError, match=r"expected an empty folder.*has 'mine.txt'"):
        ps.Dataset.range(3).save(tmp_path, overwrite=overwrite)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_given_a_folder_of_written_records_then_it_is_refused(tmp_path: Path) -> None:
    ps.Dataset.from_tensor_slices({"x": [1, 2]}).write_tfrecord(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    for overwrite in (False, True):
        with pytest.raises(StoreError, match="found the files of write_tfrecord"):
            ps.Dataset.range(3).save(tmp_path, overwrite=overwrite)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_given_another_writer_then_it_is_kept_out(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(StoreError, match="somebody else is at it"):
        ps.Dataset.range(3).save(tmp_path)
    os.close(handle)
    assert ps.Dataset.range(3).save(tmp_path).elements == 3


def test_given_a_complete_file_that_was_cut_off_then_going_on_is_refused(tmp_path: Path) -> None:
    written = ps.Dataset.range(1000).save(tmp_path)
    path = Path(written.shards[0])
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StoreError, match=r"not as it was. Start anew with overwrite=True"):
        ps.Dataset.range(1000).save(tmp_path)
    ps.Dataset.range(1000).save(tmp_path, overwrite=True)
    assert len(list(ps.Dataset.load(tmp_path))) == 1000


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: ps.Dataset.range(4).window(2), "element has objects, which cannot be saved. Map it to"),
        (
            lambda: ps.Dataset.from_generator(lambda: iter([{"a": None}])),
            r"element\['a'\] has values of the ",
        ),
        (lambda: ps.Dataset.from_generator(lambda: iter([np.arange(2), np.arange(2.0)])), "cannot be saved"),
        (lambda: ps.Dataset.range(9).map(lambda x: np.arange(x)).ragged_batch(2), "ragged batch to "),
        (lambda: ps.Dataset.range(4).repeat(), "expected a dataset that ends"),
    ],
)
@pytest.mark.parametrize("block_rows", [1, 1000])
def test_given_what_cannot_be_saved_then_the_error_says_what_to_do(
    make: Any, words: str, block_rows: int, tmp_path: Path
) -> None:
    ds = make().with_options(ps.Options(block_rows=block_rows))
    with pytest.raises((ArgumentTypeError, ArgumentError), match=rf"save at .*test_save.py:\d+: .*{words}"):
        ds.save(tmp_path)
    assert not list(tmp_path.glob("*.blocks"))


def test_given_wrong_arguments_then_they_are_named() -> None:
    ds = ps.Dataset.range(3)
    with pytest.raises(ArgumentTypeError, match=r"save\(directory=\)"):
        ds.save(7)
    with pytest.raises(ArgumentError, match="a folder of this machine"):
        ds.save("gs://bucket/x")
    with pytest.raises(ArgumentTypeError, match=r"save\(overwrite=\)"):
        ds.save("x", overwrite="yes")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"save\(shard_bytes=\)"):
        ds.save("x", shard_bytes="many")


def test_given_an_element_that_fails_then_the_error_comes_and_ignored_it_is_left_out(tmp_path: Path) -> None:
    with pytest.raises(FunctionError, match="2 is bad"):
        failing(6, 2).save(tmp_path / "a")
    failing(6, 2).ignore_errors().save(tmp_path / "b")
    assert [int(x) for x in ps.Dataset.load(tmp_path / "b")] == [0, 1, 3, 4, 5]


def test_given_blocks_of_any_size_then_the_same_elements_are_saved(tmp_path: Path) -> None:
    for rows in (1, 7, 4096):
        ds = every_kind().with_options(ps.Options(block_rows=rows))
        ds.save(tmp_path / str(rows), memory="2MiB")
        assert same(drain(ps.Dataset.load(tmp_path / str(rows))), list(every_kind()))


def test_given_a_terminal_then_it_shows_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("penstock.writing.progress.EVERY", 0)
    ps.Dataset.range(100).save(tmp_path)
    assert "elements of 100" in terminal.getvalue()


def test_when_saved_then_no_descriptor_is_left_open(tmp_path: Path) -> None:
    ps.Dataset.range(10).save(tmp_path / "first")
    before = descriptors()
    ps.Dataset.range(10).save(tmp_path / "second")
    assert descriptors() <= before


def test_given_a_dataset_of_the_files_that_would_be_removed_then_they_stay(tmp_path: Path) -> None:
    ps.Dataset.range(10).save(tmp_path / "kept")
    loaded = ps.Dataset.load(tmp_path / "kept")
    with pytest.raises(
        ArgumentError, match=r"save\(directory=\) at .*does not read from, but it reads .*\.blocks"
    ):
        loaded.map(lambda x: x * 2).save(tmp_path / "kept", overwrite=True)
    assert [int(x) for x in ps.Dataset.load(tmp_path / "kept")] == list(range(10))
    loaded.map(lambda x: x * 2).save(tmp_path / "other")
    loaded.map(lambda x: x * 3).save(tmp_path / "other", overwrite=True)
    assert [int(x) for x in ps.Dataset.load(tmp_path / "other")] == list(range(0, 30, 3))


def test_given_more_files_than_are_kept_by_name_then_none_of_them_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.io.stores.watched.MOST", 2)
    ps.Dataset.range(3).save(tmp_path / "kept")
    lines = ps.TextLineDataset(["one", "two", "three"]).map(len)
    with pytest.raises(ArgumentError, match=r"does not read from, but it reads .*\.blocks"):
        lines.concatenate(ps.Dataset.load(tmp_path / "kept")).save(tmp_path / "kept", overwrite=True)
    assert [int(x) for x in ps.Dataset.load(tmp_path / "kept")] == [0, 1, 2]
