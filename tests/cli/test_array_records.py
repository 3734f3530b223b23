"""`penstock inspect` of ArrayRecord files."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
from cli.inspected import cut, flip, look_one

library = pytest.importorskip("array_record.python.array_record_module")


def write(path: Path, records: list[bytes], options: str = "group_size:1") -> Path:
    writer = library.ArrayRecordWriter(str(path), options)
    for record in records:
        writer.write(record)
    writer.close()
    return path


def test_given_examples_then_their_features_are_told_whatever_the_name(tmp_path: Path) -> None:
    examples = [ps.io.serialize_example({"id": i, "x": [0.5, i]}) for i in range(50)]
    found = look_one(write(tmp_path / "no-name", examples))
    assert (found.format, found.content, found.records, found.status) == (
        "ArrayRecord",
        "tf.train.Example",
        50,
        0,
    )
    assert {one.name: (one.dtype, one.values, one.range) for one in found.columns} == {
        "id": ("int64", (1, 1), (0, 49)),
        "x": ("float32", (2, 2), (0, 49)),
    }
    assert found.samples[1] == {"id": "1", "x": "[0.5, 1]"}
    assert found.record_bytes is not None and found.record_bytes[0] == min(map(len, examples))


def test_given_other_records_then_sizes_and_samples_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.array_record", [b"", b"word", b"words" * 9], "group_size:2")
    found = look_one(path)
    assert (found.content, found.records, found.record_bytes) == ("records of text", 3, (0, 49 / 3, 45))
    few = look_one(path, records=2)
    assert (few.records, few.whole, len(few.samples)) == (2, False, 2)
    none = look_one(write(tmp_path / "none", []))
    assert (none.format, none.records, none.status) == ("ArrayRecord", 0, 0)


def test_given_damage_then_the_records_and_the_byte_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a", [bytes([i]) * 100 for i in range(40)], "group_size:1,uncompressed")
    flip(path, 400)
    found = look_one(path)
    assert (found.records, found.status) == (40, 1)
    assert 0 < found.damaged < 40
    assert 0 < found.damage[0].offset <= 400 and found.damage[0].record is not None
    cut(path, path.stat().st_size - 1000)
    found = look_one(path)
    assert (found.records, found.status) == (None, 1)
    assert "is damaged or cut off" in found.damage[0].what
