"""The index of a TFRecord file: made once, checked always."""

from __future__ import annotations

import os
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from contract.frames import framed, offsets
from penstock.io.formats import tfrecord_index
from penstock.io.formats.tfrecord_index import BODY, HEADER, FileIndex, find, make
from penstock.io.stores.local import LocalFile
from penstock.io.tfrecord_writer import TFRecordWriter

RECORDS = [b"one", b"", b"three" * 30, b"\0" * 9, b"five"]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "data"
    folder.mkdir()
    file = folder / "some.tfrecord"
    file.write_bytes(framed(*RECORDS))
    return file


def beside(file: Path) -> Path:
    return file.with_name(".some.tfrecord.penstock-index")


def made(file: Path) -> FileIndex:
    with LocalFile(str(file)) as stored:
        return make(stored, np.empty)


def found(file: Path) -> FileIndex | None:
    with LocalFile(str(file)) as stored:
        return find(stored)


def spans(index: FileIndex | None) -> list[tuple[int, int]]:
    assert index is not None
    starts, ends = index.spans(np.arange(index.elements))
    index.close()
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def expected(records: list[bytes]) -> list[tuple[int, int]]:
    ends = offsets(records)
    return list(pairwise(ends))


def test_given_a_file_then_its_index_is_kept_beside_it_and_found_again(file: Path) -> None:
    assert found(file) is None
    assert spans(made(file)) == expected(RECORDS)
    assert sorted(path.name for path in file.parent.iterdir()) == [beside(file).name, file.name]
    assert list(file.parent.glob("some*")) == [file]
    assert spans(found(file)) == expected(RECORDS)
    again = found(file)
    assert again is not None
    again.in_memory()
    assert spans(again) == expected(RECORDS)


@pytest.mark.parametrize("size", [0, 7, 3000, 70_000])
def test_given_records_of_any_size_then_all_are_found_and_little_is_read(
    file: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bits = random.Random(size)
    records = [bytes(bits.randrange(size + 1)) for _ in range(300)] + [bytes(2 * size)] * 300
    with TFRecordWriter(file) as writer:  # plain Python would take long
        for record in records:
            writer.write(record)
    read = []
    real = LocalFile.read_into
    monkeypatch.setattr(LocalFile, "read_into", lambda *a: read.append(len(a[2])) or real(*a))  # type: ignore[func-returns-value]
    assert spans(made(file)) == expected(records)
    if size == 70_000:
        assert sum(read) < file.stat().st_size / 10
    else:
        assert sum(read) < 1.1 * file.stat().st_size


def test_given_a_file_that_has_changed_then_its_index_is_not_found(file: Path) -> None:
    made(file)
    status = file.stat()
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert found(file) is None
    file.write_bytes(framed(b"another"))
    assert found(file) is None
    assert spans(made(file)) == [(0, 23)]
    assert spans(found(file)) == [(0, 23)]


def test_given_an_index_with_a_wrong_byte_then_it_is_not_found(file: Path) -> None:
    made(file)
    good = beside(file).read_bytes()
    assert len(good) == BODY + 8 * (len(RECORDS) + 1)
    for place in [*range(HEADER.size), *range(BODY, len(good))]:
        wrong = bytearray(good)
        wrong[place] ^= 1
        beside(file).write_bytes(wrong)
        assert found(file) is None, place
    for wrong_size in (0, 10, BODY, len(good) - 8, len(good) - 1):
        beside(file).write_bytes(good[:wrong_size])
        assert found(file) is None, wrong_size
    beside(file).write_bytes(good + bytes(8))
    assert found(file) is None
    assert spans(made(file)) == expected(RECORDS)
    assert beside(file).read_bytes() == good


def test_when_all_records_were_found_good_then_the_index_says_so_until_the_file_changes(file: Path) -> None:
    index = made(file)
    assert not index.verified
    before = found(file)
    assert before is not None
    assert not before.verified
    index.verify()
    after = found(file)
    assert after is not None
    assert after.verified
    assert spans(after) == expected(RECORDS)
    status = file.stat()
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert not made(file).verified


def test_when_the_index_is_of_a_later_file_then_an_earlier_one_does_not_mark_it(file: Path) -> None:
    earlier = made(file)
    file.write_bytes(framed(b"another"))
    made(file)
    earlier.verify()
    later = found(file)
    assert later is not None
    assert not later.verified


def test_given_a_mark_with_a_wrong_byte_then_nothing_is_said_to_be_good(file: Path) -> None:
    made(file).verify()
    good = beside(file).read_bytes()
    for place in range(HEADER.size, HEADER.size + 32):
        wrong = bytearray(good)
        wrong[place] ^= 1
        beside(file).write_bytes(wrong)
        index = found(file)
        assert index is not None
        assert not index.verified


def test_given_a_file_that_is_read_only_then_its_index_can_be_marked(file: Path) -> None:
    file.chmod(0o444)
    made(file)
    assert beside(file).stat().st_mode & 0o777 == 0o644


def test_given_a_file_cut_anywhere_then_the_whole_records_are_found_and_the_damage(file: Path) -> None:
    whole, ends = file.read_bytes(), offsets(RECORDS)
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        index = made(file)
        good = sum(end <= size for end in ends[1:])
        assert (index.count, index.damaged) == (good, size not in ends)
        damage = [(ends[good], ends[good])] * index.damaged
        assert spans(index) == expected(RECORDS)[:good] + damage


def test_given_a_wrong_length_then_the_records_before_are_found_and_the_damage(file: Path) -> None:
    data, ends = bytearray(file.read_bytes()), offsets(RECORDS)
    data[ends[2] + 8] ^= 1
    file.write_bytes(data)
    assert spans(made(file)) == [*expected(RECORDS)[:2], (ends[2], ends[2])]


def test_given_no_place_beside_the_file_then_the_cache_folder_has_it(file: Path, tmp_path: Path) -> None:
    beside(file).mkdir()  # so no file can take that name
    assert spans(made(file)) == expected(RECORDS)
    assert len(list((tmp_path / "cache" / "penstock").iterdir())) == 1
    assert spans(found(file)) == expected(RECORDS)


def test_given_no_place_at_all_then_the_index_lasts_as_long_as_it_is_used(file: Path, tmp_path: Path) -> None:
    beside(file).mkdir()
    (tmp_path / "cache").write_text("no folder")
    assert spans(made(file)) == expected(RECORDS)
    assert found(file) is None


def test_when_making_it_fails_then_nothing_is_left(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tfrecord_index, "locate", broken)
    with pytest.raises(KeyboardInterrupt):
        made(file)
    assert [path.name for path in file.parent.iterdir()] == [file.name]
