"""Where in which file an element came from that a function failed on."""

from __future__ import annotations

import gzip
import io
import pickle
import tarfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.blocks.block import Block
from penstock.blocks.columns import DenseColumn
from penstock.blocks.origin import Joined, Listed, Origin, Place, Spaced
from penstock.blocks.structure import LEAF

FRAME = 16
BAD = b"\xff\xff no Example"
FEATURES = {"n": ps.io.FixedLenFeature([], np.int64)}


def record(i: int) -> bytes:
    return ps.io.serialize_example({"n": i, "filler": b"x" * (i % 5)})


def write(path: Path, bad: int, rows: int = 40, compression: str = "") -> int:
    """A file of records with one that is no Example; the byte where it is."""
    place = 0
    with ps.io.TFRecordWriter(str(path), ps.io.TFRecordOptions(compression_type=compression)) as writer:
        for i in range(rows):
            data = BAD if i == bad else record(i)
            if i < bad:
                place += len(data) + FRAME
            writer.write(data)
    return place


def parse(data: Any) -> Any:
    return ps.io.parse_single_example(data, FEATURES)


def refuse(data: Any) -> Any:
    if b"BAD" in bytes(data):
        raise ValueError("a bad one")
    return len(data)


def failures(ds: ps.Dataset, **options: Any) -> list[ps.errors.ElementError]:
    errors = []
    with ds.iterate(**options) as it:
        while True:
            try:
                next(it)
            except StopIteration:
                return errors
            except ps.errors.ElementError as error:
                errors.append(error)


@pytest.fixture
def files(tmp_path: Path) -> list[tuple[str, int]]:
    """Two files, each with the byte of the record that is no Example."""
    paths = [tmp_path / "a.tfrecord", tmp_path / "b.tfrecord"]
    return [(str(path), write(path, bad)) for path, bad in zip(paths, (7, 23), strict=True)]


PIPELINES: dict[str, Callable[[Any], ps.Dataset]] = {
    "map": lambda names: ps.TFRecordDataset(names).map(parse),
    "method": lambda names: ps.TFRecordDataset(names).parse_example(FEATURES),
    "in threads": lambda names: ps.TFRecordDataset(names).map(parse, num_parallel_calls=2),
    "row by row": lambda names: ps.TFRecordDataset(names).map(lambda data: [parse(data)["n"]][0]),
    "the second of two": lambda names: ps.TFRecordDataset(names).map(lambda data: data).map(parse),
    "another op between": lambda names: (
        ps.TFRecordDataset(names)
        .map(lambda data: (data, 1))
        .filter(lambda _, one: one > 0)
        .enumerate()
        .map(lambda _, pair: parse(pair[0]))
    ),
    "a filter": lambda names: ps.TFRecordDataset(names).filter(lambda data: parse(data)["n"] >= 0),
    "zip": lambda names: ps.Dataset.zip(ps.Dataset.counter(), ps.TFRecordDataset(names)).map(
        lambda _, data: parse(data)
    ),
    "files in turn": lambda names: ps.TFRecordDataset(names, num_parallel_reads=2).map(parse),
    "interleave": lambda names: (
        ps.Dataset.from_tensor_slices(names).interleave(ps.TFRecordDataset, cycle_length=2).map(parse)
    ),
    "the whole in another order": lambda names: ps.TFRecordDataset(names).shuffle().map(parse),
    "skip and take": lambda names: ps.TFRecordDataset(names).skip(3).take(70).map(parse),
    "ahead": lambda names: ps.TFRecordDataset(names).prefetch(4).map(parse),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_given_records_that_cannot_be_parsed_then_the_errors_name_file_and_byte(
    name: str, files: list[tuple[str, int]]
) -> None:
    ds = PIPELINES[name]([path for path, _ in files])
    for rows in (None, 1, 5):
        errors = failures(ds.with_options(ps.Options(block_rows=rows)))
        assert sorted((error.file, error.offset) for error in errors) == files
        for error in errors:
            assert f"It came from {error.file}, byte {error.offset}." in str(error)
            assert "test_places.py" in str(error)


def test_given_a_state_then_the_error_after_it_names_the_same_place(files: list[tuple[str, int]]) -> None:
    ds = ps.TFRecordDataset([path for path, _ in files]).map(parse)
    with ds.iterate() as it:
        for _ in range(5):
            next(it)
        state = it.state()
    errors = failures(ds, state=state)
    assert [(error.file, error.offset) for error in errors] == files


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_given_a_compressed_file_then_the_byte_is_that_of_what_it_holds(
    tmp_path: Path, compression: str
) -> None:
    path = tmp_path / "packed"
    place = write(path, 7, compression=compression)
    [error] = failures(ps.TFRecordDataset(str(path), compression).map(parse))
    assert (error.file, error.offset) == (str(path), place)
    assert f"byte {place} of what it holds unpacked" in str(error)


def test_given_records_in_batches_then_the_place_is_that_of_the_first_of_the_batch(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    write(path, 13)
    first = sum(len(record(i)) + FRAME for i in range(12))
    ds = ps.TFRecordDataset(str(path)).batch(4).map(lambda data: ps.io.parse_example(data, FEATURES))
    for rows in (None, 1, 3):
        [error] = failures(ds.with_options(ps.Options(block_rows=rows)))
        assert error.offset == first
        assert f"The first element of this batch came from {path}, byte {first}." in str(error)


@pytest.mark.parametrize("through", ["shuffle", "cache"])
def test_given_an_op_that_keeps_rows_without_their_places_then_the_error_says_so(
    files: list[tuple[str, int]], through: str
) -> None:
    read = ps.TFRecordDataset([path for path, _ in files])
    ds = (read.shuffle(10) if through == "shuffle" else read.cache()).map(parse)
    if through == "cache":
        failures(ds)  # what is read again is known no more
    for error in failures(ds):
        assert (error.file, error.offset) == ("", -1)
        assert f"It came through {through}, which does not keep where" in str(error)


def test_given_no_file_at_all_then_nothing_is_said_of_one() -> None:
    [error] = failures(ps.Dataset.from_tensor_slices([b"BAD"]).shuffle(3).cache().map(refuse))
    assert "came" not in str(error)


def test_when_the_failure_is_written_down_then_the_place_is_there_too(
    files: list[tuple[str, int]], tmp_path: Path
) -> None:
    quarantine = tmp_path / "bad.jsonl"
    ds = ps.TFRecordDataset([path for path, _ in files]).map(parse)
    assert sum(1 for _ in ds.on_error("quarantine", str(quarantine))) == 78
    said = [(row["file"], row["offset"]) for row in ps.JsonLinesDataset(str(quarantine))]
    assert said == files


LINES = {
    "plain": [b"one\n", b"\n", b"BAD\n", b"four\n"],
    "returns": [b"one\r\n", b"\r\n", b"BAD\r\n", b"four\r\n"],
    "mixed": [b"one\r\n", b"two\n", b"\n", b"BAD\r\n", b"five\n"],
    "no end": [b"one\n", b"two\n", b"a BAD one"],
    "no end after a return": [b"a\r\n", b"BAD"],
    "alone": [b"BAD"],
}


@pytest.mark.parametrize("name", LINES)
def test_given_lines_then_the_byte_is_where_the_line_begins(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.txt"
    lines = LINES[name]
    path.write_bytes(b"".join(lines))
    bad = next(i for i, line in enumerate(lines) if b"BAD" in line)
    [error] = failures(ps.TextLineDataset(str(path)).map(refuse))
    assert (error.file, error.offset) == (str(path), sum(map(len, lines[:bad])))


def test_given_many_lines_packed_then_the_byte_is_where_the_line_begins(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    lines = [b"x" * (i % 70) + b"\n" for i in range(20_000)]
    lines[15_000] = b"BAD\n"
    path.write_bytes(gzip.compress(b"".join(lines)))
    [error] = failures(ps.TextLineDataset(str(path), "GZIP").map(refuse))
    assert error.offset == sum(map(len, lines[:15_000]))
    assert "unpacked" in str(error)


def test_given_records_of_one_length_then_the_byte_is_where_the_record_begins(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"head" + b"abcd" * 9 + b"BADx" + b"abcd" * 3)
    [error] = failures(ps.FixedLengthRecordDataset(str(path), 4, header_bytes=4).map(refuse))
    assert (error.file, error.offset) == (str(path), 4 + 36)


def test_given_json_lines_then_the_byte_is_where_the_line_begins(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [b'{"x": "good"}\n', b"\n", b"no json\n", b'{"x": "good"}\n', b'{"x": "BAD"}\n']
    path.write_bytes(b"".join(lines))
    errors = failures(ps.JsonLinesDataset(str(path)).map(lambda row: refuse(row["x"].encode())))
    assert [error.offset for error in errors] == [15, sum(map(len, lines[:4]))]


def test_given_a_folder_of_pictures_then_the_file_is_that_of_the_picture(tmp_path: Path) -> None:
    for name in ("cat/a.png", "dog/b.png"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"BAD" if "dog" in name else b"good")
    images = ps.ImageFolderDataset(str(tmp_path))
    for ds in (images, images.shuffle()):
        [error] = failures(ds.map(lambda one: refuse(one["image"])))
        assert (error.file, error.offset) == (str(tmp_path / "dog" / "b.png"), 0)


def test_given_an_archive_then_the_byte_is_where_the_element_begins(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name, data in (("a.txt", b"good"), ("b.txt", b"BAD"), ("c.txt", b"good")):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    [error] = failures(ps.WebDataset(str(path)).map(lambda one: refuse(one["txt"])))
    assert (error.file, error.offset) == (str(path), 1024)


def test_given_a_block_when_it_is_pickled_then_it_goes_without_its_places() -> None:
    block = Block(LEAF, [DenseColumn(np.arange(3))], 3, origin=Spaced("file", 0, np.arange(4)))
    assert block.place(2) is not None
    assert pickle.loads(pickle.dumps(block)).origin is None


def test_given_rows_taken_of_slices_then_each_knows_its_own_place() -> None:
    block = Block(LEAF, [DenseColumn(np.arange(9))], 9, origin=Listed(["f"], None, np.arange(9) * 10))
    part = block.slice(2, 9).slice(1, 6).take(np.array([4, 0, 2]))
    assert part.columns[0].item(0) == 7
    places = [part.place(row) for row in range(3)]
    assert [place.offset for place in places if place is not None] == [70, 30, 50]


def test_given_parts_of_several_files_then_no_wrong_one_is_named(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("1\n2\n3\n")
    bad.write_text("1\nx\n3\n")
    lines = [ps.TextLineDataset(str(path)) for path in (good, bad)]
    (error,) = failures(ps.Dataset.zip(*lines).map(lambda _, line: [int(line)][0]))
    assert (error.file, error.offset) == ("", -1)
    assert "came from" not in str(error)


@pytest.mark.parametrize("joined", [False, True])
def test_given_few_rows_of_many_then_they_do_not_keep_what_is_known_of_all(joined: bool) -> None:
    offsets = np.arange(0, 80_008, 8)
    origin: Origin = Spaced("a.txt", 5, offsets, gap=1)
    if joined:
        origin = Joined([origin, Spaced("b.txt", 0, offsets[:3])], [0, 10_000])
    alive = weakref.ref(offsets)
    taken = origin.take(np.array([9_000, 3])).take(np.array([1]))
    del origin, offsets
    assert alive() is None
    assert taken.place(0) == Place("a.txt", 5 + 3 * 9)


def test_given_short_records_before_long_ones_then_files_in_turn_stay_within_the_budget(
    tmp_path: Path,
) -> None:
    for name in "abcd":
        with ps.io.TFRecordWriter(str(tmp_path / name)) as writer:
            for size in [100] * 400 + [1 << 20] * 20:
                writer.write(bytes(size))
    names = ps.Dataset.from_tensor_slices([str(tmp_path / name) for name in "abcd"])
    with names.interleave(ps.TFRecordDataset, cycle_length=4).iterate(memory="32MiB") as it:
        assert sum(len(record) for record in it) == 4 * (400 * 100 + (20 << 20))
        assert it.report().peak <= 32 << 20
