"""TFRecord files: records, checksums, features, and damage with its place."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard

import penstock as ps
from cli.inspected import by_name, cut, flip, look, look_one
from contract.frames import framed, head

PACKINGS: dict[str | None, Any] = {
    None: bytes,
    "GZIP": gzip.compress,
    "ZLIB": zlib.compress,
    "ZSTD": zstandard.compress,
}


def example(i: int) -> bytes:
    features: dict[str, Any] = {
        "id": [i],
        "score": [0.5, i / 2],
        "tags": [b"t"] * (i % 3),
        "name": ["ab" * i],
    }
    if i % 2:
        features["odd"] = [-i]
    return ps.io.serialize_example(features)


EXAMPLES = [example(i) for i in range(10)]
STARTS = [sum(len(one) + 16 for one in EXAMPLES[:i]) for i in range(11)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(framed(*EXAMPLES))
    return path


@pytest.mark.parametrize("packing", PACKINGS, ids=str)
@pytest.mark.parametrize("name", ["a.tfrecord", "no-name-to-go-by"])
def test_given_a_file_then_it_is_known_by_its_content_however_it_is_packed(
    tmp_path: Path, packing: str | None, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(PACKINGS[packing](framed(*EXAMPLES)))
    found = look_one(path)
    assert (found.format, found.content, found.compression) == ("TFRecord", "tf.train.Example", packing)
    assert (found.records, found.whole, found.status) == (10, True, 0)
    lengths = [len(one) for one in EXAMPLES]
    assert found.record_bytes == (min(lengths), sum(lengths) / 10, max(lengths))
    assert found.bytes == path.stat().st_size


def test_given_examples_then_every_feature_is_described(file: Path) -> None:
    columns = by_name(look_one(file))
    assert list(columns) == ["id", "name", "odd", "score", "tags"]
    assert {name: column.dtype for name, column in columns.items()} == {
        "id": "int64",
        "name": "bytes",
        "odd": "int64",
        "score": "float32",
        "tags": "bytes",
    }
    assert (columns["id"].present, columns["odd"].present) == (10, 5)
    assert (columns["id"].range, columns["odd"].range) == ((0, 9), (-9, -1))
    assert columns["score"].range == (0.0, 4.5)
    assert (columns["score"].values, columns["tags"].values) == ((2, 2), (0, 2))
    assert columns["name"].bytes == (0, 18)
    assert columns["name"].looks_like == "text"


def test_given_the_code_that_is_shown_then_it_parses_the_records(file: Path) -> None:
    scope: dict[str, Any] = {"ps": ps}
    exec(look_one(file).code, scope)
    elements = list(scope["ds"])
    assert [element["id"] for element in elements] == list(range(10))
    assert [element["odd"].tolist() for element in elements] == [[-i] if i % 2 else [] for i in range(10)]
    assert elements[3]["score"].tolist() == [0.5, 1.5]


def test_given_pictures_in_features_then_they_are_recognised(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    kinds = {
        "jpeg": b"\xff\xd8\xff\xe0" + bytes(40),
        "png": b"\x89PNG\r\n\x1a\n" + bytes(9),
        "raw": bytes(range(9)),
    }
    path.write_bytes(framed(*[ps.io.serialize_example({name: [one] for name, one in kinds.items()})] * 3))
    found = by_name(look_one(path))
    assert {name: one.looks_like for name, one in found.items()} == {
        "jpeg": "JPEG",
        "png": "PNG",
        "raw": "bytes",
    }


def test_given_sequence_examples_then_steps_and_values_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "s.tfrecord"
    records = [
        ps.io.serialize_sequence_example({"n": [i]}, {"pair": [[i, 2]] * i, "some": [[b"x"] * i]})
        for i in range(1, 4)
    ]
    path.write_bytes(framed(*records))
    found = look_one(path)
    columns = by_name(found)
    assert found.content == "tf.train.SequenceExample"
    assert [columns[name].part for name in ("n", "pair", "some")] == ["context", "sequence", "sequence"]
    assert (columns["pair"].steps, columns["pair"].values, columns["pair"].range) == ((1, 3), (2, 2), (1, 3))
    assert (columns["some"].steps, columns["some"].values) == ((1, 1), (1, 3))
    scope: dict[str, Any] = {"ps": ps}
    exec(found.code, scope)
    context, lists = list(scope["ds"])[1]
    assert (context["n"], lists["pair"].tolist()) == (2, [[2, 2], [2, 2]])


def test_given_a_feature_of_two_kinds_then_both_are_told_and_neither_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(framed(*[ps.io.serialize_example({"x": one}) for one in ([1], [b"a"], [2])]))
    found = look_one(path)
    assert [(one.name, one.dtype, one.present) for one in found.columns] == [
        ("x", "bytes", 1),
        ("x", "int64", 2),
    ]
    assert "# 'x': int64 in 2 records" in found.code


def test_given_records_that_are_no_examples_then_they_are_shown_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(framed(b"one", b"two", b""))
    found = look_one(path, samples=2)
    assert (found.content, found.records, found.status) == ("records of text", 3, 0)
    assert (found.columns, found.code) == ([], "")
    assert found.samples == [{"record": "b'one'"}, {"record": "b'two'"}]


def test_given_one_record_among_examples_that_is_none_then_it_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(framed(*EXAMPLES[:4], b"\x0a\x50", *EXAMPLES[4:]))
    found = look_one(path)
    (damage,) = found.damage
    assert (found.status, found.records, damage.record, damage.offset) == (1, 11, 4, STARTS[4])
    assert "no tf.train.Example: at its byte 1, it ends in the middle" in damage.what
    assert by_name(found)["id"].present == 10


def test_given_a_damaged_record_then_its_place_is_told_and_the_others_are_counted(file: Path) -> None:
    flip(file, STARTS[3] + 12 + 5)
    found = look_one(file)
    (damage,) = found.damage
    assert (damage.file, damage.offset, damage.record) == (str(file), STARTS[3], 3)
    assert "checksum of the record" in damage.what
    assert (found.records, by_name(found)["id"].present, found.status) == (10, 9, 1)


def test_given_a_damaged_length_then_the_next_record_is_searched_for(file: Path) -> None:
    flip(file, STARTS[3])
    found = look_one(file)
    (damage,) = found.damage
    assert damage.offset == STARTS[3]
    assert f"the next one is at byte {STARTS[4]:,}" in damage.what
    assert by_name(found)["id"].present == 9


def test_given_a_damaged_length_far_from_the_next_record_then_pieces_are_searched_one_by_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(framed(b"first") + b"\xab" * ((1 << 20) + 3) + framed(b"last"))
    found = look_one(path)
    assert (found.records, found.damaged, found.damage[0].offset) == (2, 1, 21)
    assert [one["record"] for one in found.samples] == ["b'first'", "b'last'"]


@pytest.mark.parametrize("rest", [1, 11, 12, 30])
def test_given_a_file_that_is_cut_off_then_it_says_where(file: Path, rest: int) -> None:
    cut(file, STARTS[7] + rest)
    found = look_one(file)
    (damage,) = found.damage
    assert (found.records, damage.offset, damage.record) == (7, STARTS[7], 7)
    assert "cut off" in damage.what


def test_given_a_length_that_no_file_has_then_nothing_is_allocated_for_it(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(framed(b"one") + head(1 << 60) + b"two")
    found = look_one(path)
    assert (found.records, found.damaged, found.damage[0].offset) == (1, 1, 19)


@pytest.mark.parametrize("packing", ["GZIP", "ZLIB", "ZSTD"])
def test_given_packed_data_that_is_cut_off_then_what_can_be_unpacked_is_told(
    tmp_path: Path, packing: str
) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(PACKINGS[packing](framed(*EXAMPLES)))
    cut(path, path.stat().st_size - 3)
    found = look_one(path)
    assert (found.compression, found.status) == (packing, 1)
    assert f"expected {packing} data" in found.damage[0].what
    assert 0 < found.damage[0].offset <= path.stat().st_size


def test_given_more_damage_than_is_listed_then_all_of_it_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    wrong = head(1) + b"x" + bytes(4)
    path.write_bytes(wrong * 1500)
    found = look_one(path)
    assert (found.damaged, len(found.damage), found.records) == (1500, 1000, 1500)


def test_given_a_number_of_records_then_no_more_are_looked_at(file: Path) -> None:
    flip(file, STARTS[5] + 12)
    found = look_one(file, records=4)
    assert (found.records, found.whole, found.status) == (4, False, 0)
    assert by_name(found)["id"].range == (0, 3)
    assert "# from the first 4 records only" in found.code
    assert look_one(file, records=10).whole


def test_given_several_files_then_they_are_told_of_together(tmp_path: Path) -> None:
    paths = [tmp_path / f"train-{i:05}-of-00003" for i in range(3)]
    for i, path in enumerate(paths):
        path.write_bytes(framed(*EXAMPLES[i * 3 : i * 3 + 3]))
    flip(paths[1], 13)
    for found in (look_one(tmp_path), look(*paths)[0]):
        assert (found.records, found.damaged, found.damage[0].file) == (9, 1, str(paths[1]))
        assert [(file.path, file.records, file.damaged) for file in found.files] == [
            (str(path), 3, int(i == 1)) for i, path in enumerate(paths)
        ]
        assert by_name(found)["id"].range == (0, 8)


def test_given_files_that_differ_then_ranges_are_over_all_of_them(tmp_path: Path) -> None:
    for name, x in {"a": [5, 6, 7], "b": [-1], "c": [0, 0]}.items():
        strings = [b"s" * abs(x[0])]
        record = ps.io.serialize_example({"x": x, "s": strings, "f": [x[0] / 2]})
        (tmp_path / f"{name}.tfrecord").write_bytes(framed(record))
    columns = by_name(look_one(tmp_path))
    assert (columns["x"].values, columns["x"].range, columns["x"].present) == ((1, 3), (-1, 7), 3)
    assert (columns["s"].bytes, columns["f"].range) == ((0, 5), (-0.5, 2.5))


def test_given_an_empty_file_with_a_name_then_it_has_no_records(tmp_path: Path) -> None:
    (tmp_path / "a.tfrecord").touch()
    found = look_one(tmp_path / "a.tfrecord")
    assert (found.format, found.records, found.status) == ("TFRecord", 0, 0)


def test_given_many_names_then_the_first_thousand_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(
        framed(*[ps.io.serialize_example({f"{i}-{j}": [1] for j in range(60)}) for i in range(20)])
    )
    found = look_one(path)
    assert (len(found.columns), found.records) == (1000, 20)
    assert "more_features" in found.details


def test_given_samples_then_values_are_short_and_escaped(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(
        framed(ps.io.serialize_example({"a": list(range(100)), "b": [b"\x00" * 5000], "c": ["é"]}))
    )
    assert look_one(path).samples == [
        {
            "a": "[0, 1, 2, 3, 4, 5, ... 100 in all]",
            "b": "b'\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00...' (4.88 KiB)",
            "c": "b'\\xc3\\xa9'",
        }
    ]
