"""Writing that was killed, or found its files damaged, is gone on with: to the same bytes as in one go."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.errors import ArgumentError, ArgumentTypeError, FunctionError, StoreError
from writing import interrupted

N = 100
CALLS: list[Any] = []
BROKEN: list[Any] = []
"""Of the module, and not of a function: what a function has taken from another one tells it apart."""


def killed(folder: Path, layout: str, compression: str, when: str) -> bool:
    """Whether a process that writes there was killed at that moment, or else got to the end."""
    words = [sys.executable, interrupted.__file__, str(folder), layout, compression, when]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def said(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def rows(count: int = N) -> ps.Dataset:
    return ps.Dataset.from_tensor_slices({"x": np.arange(count), "y": np.arange(count) * 0.5})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], dict[str, bytes]]:
    """What a run that nobody interrupts writes."""
    made: dict[tuple[str, str], dict[str, bytes]] = {}

    def of(layout: str, compression: str) -> dict[str, bytes]:
        if (layout, compression) not in made:
            folder = tmp_path_factory.mktemp("whole")
            interrupted.write(str(folder), layout, compression)
            made[layout, compression] = content(folder)
        return made[layout, compression]

    return of


KILLS = [
    *[
        ("shards", "", when)
        for when in ["element:200", "element:399", "before:1", "after:1", "before:3", "after:3"]
    ],
    *[("bytes", "GZIP", when) for when in ["element:399", "after:2", "before:9"]],
]


@pytest.mark.parametrize(("layout", "compression", "when"), KILLS)
def test_given_a_kill_when_called_again_then_the_files_are_those_of_one_go(
    layout: str, compression: str, when: str, whole: Any, tmp_path: Path
) -> None:
    assert killed(tmp_path, layout, compression, when)
    expected = whole(layout, compression)
    there = content(tmp_path)
    for name in there:
        if name.startswith("data-"):
            assert there[name] == expected[name], f"{name} was not whole"
    if "manifest.json" in there:
        assert {shard["name"] for shard in said(tmp_path)["shards"]} <= there.keys()
    interrupted.write(str(tmp_path), layout, compression)
    assert content(tmp_path) == expected


def test_given_kill_after_kill_then_it_is_complete_in_the_end(whole: Any, tmp_path: Path) -> None:
    kills = 0
    while killed(tmp_path, "shards", "ZLIB", "after:4"):  # two files further each time
        kills += 1
    assert kills >= 3
    assert content(tmp_path) == whole("shards", "ZLIB")


def test_given_a_complete_data_set_when_called_again_then_no_element_is_made(tmp_path: Path) -> None:
    def note(x: Any) -> Any:
        CALLS.append(x)
        return {"x": x}

    ds = ps.Dataset.range(N).map(note)
    first = ds.write_tfrecord(tmp_path, shards=3)
    before, count = content(tmp_path), len(CALLS)
    again = ds.write_tfrecord(tmp_path, shards=3)
    assert (again.shards, again.elements, again.bytes) == (first.shards, first.elements, first.bytes)
    assert content(tmp_path) == before
    assert len(CALLS) == count


@pytest.mark.parametrize("which", [0, 2, 4])
@pytest.mark.parametrize("damage", ["flip", "cut", "grow", "remove"])
def test_given_a_damaged_shard_when_called_again_then_it_alone_is_written_again(
    which: int, damage: str, tmp_path: Path
) -> None:
    written = rows().write_tfrecord(tmp_path, shards=5)
    before = content(tmp_path)
    stamps = [Path(path).stat().st_ino for path in written.shards]
    path = Path(written.shards[which])
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 1
    path.unlink()
    if damage != "remove":
        path.write_bytes({"flip": data, "cut": data[:-1], "grow": data + b"x"}[damage])
    rows().write_tfrecord(tmp_path, shards=5)
    assert content(tmp_path) == before
    others = [number for number in range(5) if number != which]
    assert [Path(written.shards[i]).stat().st_ino for i in others] == [stamps[i] for i in others]


def test_given_two_damaged_shards_of_an_unfinished_data_set_then_all_is_put_right(
    whole: Any, tmp_path: Path
) -> None:
    assert killed(tmp_path, "bytes", "", "after:11")
    shards = sorted(tmp_path.glob("data-*"))
    shards[1].write_bytes(b"nothing")
    shards[3].unlink()
    interrupted.write(str(tmp_path), "bytes", "")
    assert content(tmp_path) == whole("bytes", "")


def test_given_files_that_a_killed_writer_left_then_they_are_removed_and_others_are_not(
    tmp_path: Path,
) -> None:
    ds = rows()
    ds.write_tfrecord(tmp_path, shards=2)
    before = content(tmp_path)
    (tmp_path / ".data-00001-of-00002.tfrecord.0a1b2c3d.part").write_bytes(b"half")
    (tmp_path / ".manifest.json.0a1b2c3d.part").write_bytes(b"{")
    (tmp_path / "data-00007-of-00009.tfrecord").write_bytes(b"of another layout")
    mine = {"notes.txt": b"mine", ".other.part": b"too", "data-1.tfrecord": b"also"}
    for name, data in mine.items():
        (tmp_path / name).write_bytes(data)
    ds.write_tfrecord(tmp_path, shards=2)
    assert content(tmp_path) == {**before, **mine}


def test_given_simple_maps_over_arrays_then_going_on_in_the_middle_gives_the_same_randomness(
    tmp_path: Path,
) -> None:
    ds = rows().map(lambda e: {"z": e["x"] + ps.random.uniform(()), "x": e["x"]})
    ds.write_tfrecord(tmp_path, shards=4)
    expected = content(tmp_path)
    (tmp_path / "data-00003-of-00004.tfrecord").unlink()
    ds.write_tfrecord(tmp_path, shards=4)
    assert content(tmp_path) == expected


def test_given_an_element_that_fails_then_the_same_call_goes_on_once_it_does_not(tmp_path: Path) -> None:
    BROKEN.append(60)

    def fragile(x: Any) -> Any:
        if x in BROKEN:
            raise ValueError("not yet")
        return {"x": x}

    ds = ps.Dataset.range(N).map(fragile)
    with pytest.raises(FunctionError, match="not yet"):
        ds.write_tfrecord(tmp_path, shards=10)
    assert [shard["records"] for shard in said(tmp_path)["shards"]] == [10] * 6
    assert not list(tmp_path.glob(".*"))
    BROKEN.clear()
    assert ds.write_tfrecord(tmp_path, shards=10).elements == N
    assert said(tmp_path)["state"] == "complete"


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda folder: rows(N + 1).write_tfrecord(folder, shards=2), r"from_tensor_slices\(int64\[100\]"),
        (lambda folder: rows().shuffle(3).write_tfrecord(folder, shards=2), "1 ops and this one has 2"),
        (lambda folder: rows().write_tfrecord(folder, shards=3), "2 shards of 100.*3 shards of 100"),
        (lambda folder: rows().write_tfrecord(folder), "2 shards of 100.*shards of 128 MiB"),
        (
            lambda folder: rows().write_tfrecord(folder, shards=2, compression="GZIP"),
            "compression None.*GZIP",
        ),
        (lambda folder: rows().write_tfrecord(folder, shards=2, seed=4), "seed 0, and this call has 4"),
    ],
)
def test_given_another_call_then_it_is_refused_with_what_differs_and_nothing_is_touched(
    other: Callable[[Path], Any], words: str, tmp_path: Path
) -> None:
    rows().write_tfrecord(tmp_path, shards=2)
    before = content(tmp_path)
    with pytest.raises(ArgumentError, match=words) as caught:
        other(tmp_path)
    assert "overwrite=True" in str(caught.value)
    assert content(tmp_path) == before


@pytest.mark.parametrize("there", ["data set", "manifest", "files"])
def test_given_overwrite_then_it_starts_anew_and_leaves_nothing_of_before(there: str, tmp_path: Path) -> None:
    rows(N + 1).write_tfrecord(tmp_path, shards=5)
    if there == "manifest":
        (tmp_path / "manifest.json").write_text('{"format": "something else"}')
        with pytest.raises(StoreError, match="overwrite=True"):
            rows().write_tfrecord(tmp_path, shards=2)
    if there == "files":
        (tmp_path / "manifest.json").unlink()
        with pytest.raises(ArgumentError, match=r"data-00000-of-00005.*overwrite=True"):
            rows().write_tfrecord(tmp_path, shards=2)
    rows().write_tfrecord(tmp_path, shards=2, overwrite=True)
    rows().write_tfrecord(tmp_path / "fresh", shards=2)
    there_now = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert there_now == content(tmp_path / "fresh")


def test_given_elements_that_cannot_be_written_when_starting_anew_then_what_was_there_stays(
    tmp_path: Path,
) -> None:
    rows().write_tfrecord(tmp_path, shards=2)
    before = content(tmp_path)
    unknown = ps.Dataset.from_generator(lambda: iter([(1, 2)]))
    with pytest.raises(ArgumentTypeError, match="lambda x0, x1"):
        unknown.write_tfrecord(tmp_path, overwrite=True)
    assert content(tmp_path) == before


def test_given_a_call_that_failed_before_its_first_file_then_another_one_may_take_its_place(
    tmp_path: Path,
) -> None:
    def fail(x: Any) -> Any:
        if x == 7:
            raise ValueError("no")
        return {"x": x}

    with pytest.raises(FunctionError):
        ps.Dataset.range(N).map(fail).write_tfrecord(tmp_path, shards=2)
    assert said(tmp_path)["shards"] == []
    assert rows().write_tfrecord(tmp_path, shards=2).elements == N


def test_given_a_pipeline_that_gives_something_else_each_time_then_damage_is_not_papered_over(
    tmp_path: Path,
) -> None:
    def chance(x: Any) -> Any:
        return {"x": int.from_bytes(os.urandom(4), "little")}

    ds = ps.Dataset.range(N).map(chance)
    written = ds.write_tfrecord(tmp_path, shards=4)
    Path(written.shards[1]).unlink()
    with pytest.raises(StoreError, match=r"came out otherwise.*overwrite=True"):
        ds.write_tfrecord(tmp_path, shards=4)
    assert not Path(written.shards[1]).exists()


def test_given_a_writer_at_work_then_a_second_one_is_refused(tmp_path: Path) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="somebody else"):
            rows().write_tfrecord(tmp_path, shards=2)
    finally:
        os.close(handle)
    assert rows().write_tfrecord(tmp_path, shards=2).elements == N


def test_given_a_file_in_the_place_of_the_folder_then_the_error_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(StoreError, match="file"):
        rows().write_tfrecord(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"mine"
