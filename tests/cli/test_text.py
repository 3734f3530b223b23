"""Text, CSV, JSON lines: lines and columns, and damage with its place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from cli.inspected import by_name, cut, look_one


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_given_text_then_its_lines_are_counted_and_measured(tmp_path: Path) -> None:
    found = look_one(write(tmp_path / "a.txt", "grün\n\nlast".encode()), samples=1)
    assert (found.format, found.records, found.record_bytes, found.status) == ("text", 3, (0, 3.0, 5), 0)
    assert found.samples == [{"line 1": "'grün'"}]
    assert found.details["last_line"] == "has no line end"


def test_given_bytes_in_text_that_are_no_utf8_then_each_place_is_told(tmp_path: Path) -> None:
    found = look_one(write(tmp_path / "a.txt", b"good\nb\xffd\nz\0z\n"))
    assert [(one.offset, "line" in one.what) for one in found.damage] == [(6, True), (10, True)]


def test_given_a_line_longer_than_a_piece_then_it_is_one_line(tmp_path: Path) -> None:
    size = (1 << 20) + 5
    found = look_one(write(tmp_path / "a.txt", b"a\n" + b"x" * size + b"\nb\n"))
    assert (found.records, found.record_bytes and found.record_bytes[2]) == (3, size)


def test_given_json_lines_then_keys_and_types_are_described(tmp_path: Path) -> None:
    rows = [{"a": 1, "b": "é"}, {"a": 2.5, "c": [1, 2]}, {"a": None, "b": "xyz"}]
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    found = look_one(write(tmp_path / "no-name", data))
    columns = by_name(found)
    assert (found.format, found.records, found.status) == ("JSON lines", 3, 0)
    assert (columns["a"].dtype, columns["a"].present, columns["a"].range) == ("float", 2, (1, 2.5))
    assert (columns["b"].dtype, columns["b"].bytes) == ("str", (2, 3))
    assert (columns["c"].dtype, columns["c"].values) == ("list", (2, 2))


def test_given_a_line_that_is_no_json_then_the_byte_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    good = '{"a": "é"}\n'.encode()
    found = look_one(write(tmp_path / "a.jsonl", good + '{"é": }\n'.encode() + good))
    (damage,) = found.damage
    assert damage.offset == len(good) + len('{"é": '.encode())
    assert "line 2 is no JSON" in damage.what
    assert (found.records, by_name(found)["a"].present) == (3, 2)


def test_given_csv_then_columns_have_names_and_types(tmp_path: Path) -> None:
    data = b'id,size,word\n1,0.5,"a, b"\n2,7,\n-3,1e3,"two\nlines"\n'
    found = look_one(write(tmp_path / "a.csv", data), samples=1)
    columns = by_name(found)
    assert (found.records, found.details["header"], found.status) == (3, True, 0)
    assert (columns["id"].dtype, columns["id"].range) == ("int", (-3, 2))
    assert (columns["size"].dtype, columns["size"].range) == ("float", (0.5, 1000.0))
    assert (columns["word"].dtype, columns["word"].present, columns["word"].bytes) == ("str", 2, (4, 9))
    assert found.samples == [{"id": "1", "size": "0.5", "word": "'a, b'"}]


def test_given_csv_without_names_then_columns_are_numbered(tmp_path: Path) -> None:
    found = look_one(write(tmp_path / "a.tsv", b"1\tx\n2\ty\n"))
    assert [column.name for column in found.columns] == ["column 0", "column 1"]
    assert (found.records, found.details["header"], found.details["delimiter"]) == (2, False, "tab")


def test_given_a_row_with_other_fields_then_the_byte_where_it_begins_is_told(tmp_path: Path) -> None:
    start = b'a,b\n1,"x\ny"\n'
    found = look_one(write(tmp_path / "a.csv", start + b"1,2,3\n4,5\n"))
    (damage,) = found.damage
    assert (damage.offset, damage.record, found.records) == (len(start), 1, 3)
    assert "expected 2 fields, got 3" in damage.what


def test_given_a_quote_without_its_other_one_then_it_is_damage(tmp_path: Path) -> None:
    found = look_one(write(tmp_path / "a.csv", b'a,b\n1,2\n3,"open\n5,6\n'))
    assert (found.damaged, found.damage[0].offset) == (1, 8)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz", "a.txt.gz"])
def test_given_packed_text_then_it_is_unpacked_and_its_damage_is_told(tmp_path: Path, name: str) -> None:
    lines = {"csv": b"a,b\n" + b"1,2\n" * 3, "jsonl": b'{"a": 1}\n' * 3, "txt": b"line\n" * 3}
    path = write(tmp_path / name, gzip.compress(lines[name.split(".")[1]]))
    found = look_one(path)
    assert (found.compression, found.records, found.status) == ("GZIP", 3, 0)
    cut(path, path.stat().st_size - 2)
    broken = look_one(path)
    assert (broken.status, broken.records) == (1, 3)
    assert "the packed file" in broken.damage[0].what


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.txt"])
def test_given_a_number_of_records_then_no_more_are_looked_at(tmp_path: Path, name: str) -> None:
    lines = {"csv": b"a,b\n" + b"1,2\n" * 9, "jsonl": b'{"a": 1}\n' * 9, "txt": b"line\n" * 9}
    found = look_one(write(tmp_path / name, lines[name.split(".")[1]]), records=4)
    assert (found.records, found.whole) == (4, False)
