"""`JsonLinesDataset`: its elements, and lines that are none."""

from __future__ import annotations

import atexit
import gzip
import json
import random
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, drain, same
from contract.streams import events
from penstock.io.formats.json_values import JsonShape
from penstock.sources import JsonLinesDataset

FOLDER = Path(tempfile.mkdtemp(prefix="penstock-json-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ROWS = [{"id": i, "x": i / 3, "name": f"n{i}", "v": [i, 1], "in": {"deep": i % 2 == 0}} for i in range(50)]
SPEC = {
    "v": ps.TensorSpec((2,), "float32"),
    "id": "int16",
    "name": bytes,
    "in": {"deep": ps.TensorSpec((), bool)},
}


def file(name: str, *lines: str) -> str:
    path = FOLDER / name
    path.write_bytes("\n".join(lines).encode())
    return str(path)


def dumped(rows: list[Any]) -> list[str]:
    return [json.dumps(row) for row in rows]


class TestJsonLines(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        path = file("rows", *dumped(ROWS))
        packed = FOLDER / "rows.gz"
        packed.write_bytes(gzip.compress(Path(path).read_bytes()))
        lists = file("lists", "[1, 2]", "[3]", "[]", '"text"', "null", "1.5")
        return {
            "first line": lambda: JsonLinesDataset(path, buffer_size=0),
            "fields": lambda: JsonLinesDataset(packed, ["name", "id"], compression_type="GZIP"),
            "spec": lambda: JsonLinesDataset([path, path], spec=SPEC, num_parallel_reads=2),
            "no objects": lambda: JsonLinesDataset(lists),
        }


def test_given_objects_then_elements_are_dicts_of_what_is_written() -> None:
    got = drain(JsonLinesDataset(file("rows", *dumped(ROWS))))
    expected = [
        {
            "id": np.int64(row["id"]),
            "x": np.float64(row["x"]),
            "name": row["name"],
            "v": np.array(row["v"]),
            "in": {"deep": np.bool_(row["in"]["deep"])},
        }
        for row in ROWS
    ]
    assert same(got, expected)


def test_given_a_spec_then_elements_have_its_fields_and_dtypes() -> None:
    ds = JsonLinesDataset(file("rows", *dumped(ROWS)), spec=SPEC)
    expected = [
        {
            "v": np.array(row["v"], np.float32),
            "id": np.int16(row["id"]),
            "name": row["name"].encode(),
            "in": {"deep": np.bool_(row["in"]["deep"])},
        }
        for row in ROWS
    ]
    assert same(drain(ds), expected)
    assert ds.element_spec["id"] == ps.TensorSpec((), np.int16)


@pytest.mark.parametrize(
    "line, said",
    [
        ("nonsense", "expected JSON, got b'nonsense'"),
        ('{"a": 1', "expected JSON"),
        ("[" * 100_000, "expected JSON"),
        ("{}", "expected the field 'a', got {} without it"),
        ("[1]", r"expected an object with the fields a, got \[1\]"),
        ('{"a": 1.5}', "expected int16 of shape () at element['a'], got 1.5"),
        ('{"a": 40000}', "expected int16 .* got 40000"),
        ('{"a": 123456789012345678901234567890}', "expected int16"),
        ('{"a": "1"}', "expected int16"),
        ('{"a": true}', "expected int16"),
        ('{"a": null}', "expected int16"),
        ('{"a": [1]}', "expected int16"),
        ('{"a": {"b": 1}}', "expected no object at element['a']"),
    ],
)
def test_given_a_line_at_fault_then_it_is_one_error_with_its_place_and_the_next_follows(
    line: str, said: str
) -> None:
    path = file("bad", '{"a": 1}', "", line, '{"a": 2}')
    ds = JsonLinesDataset(path, spec={"a": "int16"})
    assert events(ds) == [{"a": 1}, "failed", {"a": 2}]
    said = said.replace("()", r"\(\)").replace("['a']", r"\['a'\]")
    with pytest.raises(
        ps.errors.DataError, match=rf"JsonLinesDataset at .*bad, line 3, byte 10: .*{said}"
    ) as caught:
        list(ds)
    assert (caught.value.file, caught.value.offset, caught.value.number) == (path, 10, 1)


def test_given_a_fault_far_into_a_file_then_its_place_is_told() -> None:
    lines = dumped(ROWS) * 20
    path = file("far", *lines, "oops", *lines)
    ds = JsonLinesDataset(path, buffer_size=0)
    with pytest.raises(ps.errors.DataError, match=f"line {len(lines) + 1}, byte ") as caught:
        list(ds)
    assert caught.value.offset == sum(len(line) + 1 for line in lines)
    assert caught.value.number == len(lines)


ODD: dict[str, list[Any]] = {
    "id": [1.5, "7", 1 << 40, None, [1], True],
    "v": [[1], 2, [1, "2"], [True, 1], [[1, 2]], [1, 2, 3], [0.5, 2]],
    "name": [3, ["a"], None, "\ud800"],
    "in": [{"deep": 1}, {}, 0, {"deep": [True]}],
}


@pytest.mark.parametrize("often", [2, 5, 40])
def test_given_lines_of_wrong_types_then_each_is_what_it_is_alone(often: int) -> None:
    # given: lines of which one in so many has another value in some field, or is no JSON
    drawn = random.Random(often)
    lines = dumped(ROWS * 3)
    for i in range(len(lines)):
        if not drawn.randrange(often):
            name = drawn.choice([*ODD, ""])
            row = json.loads(lines[i])
            lines[i] = json.dumps({**row, name: drawn.choice(ODD[name])}) if name else "{"
    # when: they are read together, and each from a file of its own
    got = events(JsonLinesDataset(file("together", *lines), spec=SPEC), limit=200)
    alone = [events(JsonLinesDataset(file("alone", line), spec=SPEC)) for line in lines]
    # then: it is the same
    assert [[one] for one in got] == alone
    assert "failed" in got


def test_given_some_lines_of_wrong_types_then_only_they_are_looked_at_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[Any] = []
    plain = JsonShape.row
    monkeypatch.setattr(JsonShape, "row", lambda shape, leaves: looked.append(leaves) or plain(shape, leaves))
    rows = [{**row, "id": "one"} if i % 10 == 3 else row for i, row in enumerate(ROWS)]
    ds = JsonLinesDataset(file("some", *dumped(rows), "{"), spec=SPEC).ignore_errors()
    assert sum(1 for _ in ds) == 45
    assert len(looked) == 5


def test_given_several_files_then_the_first_line_decides_for_all() -> None:
    paths = [file("one", '{"a": 1}'), file("two", '{"b": 1, "a": 2}', '{"b": 1}')]
    assert events(JsonLinesDataset(paths)) == [{"a": 1}, {"a": 2}, "failed"]


def test_given_numbers_of_several_kinds_then_each_is_as_written_for_every_block() -> None:
    path = file(
        "mixed", '{"a": 1}', '{"a": 1.5}', '{"a": "x"}', '{"a": null}', '{"a": [1, 2]}', '{"a": [0.5]}'
    )
    expected = [1, 1.5, "x", None, [1, 2], [0.5]]
    for rows in (1, 2, 100):
        assert events(JsonLinesDataset(path), block_rows=rows) == [{"a": value} for value in expected]


def test_given_texts_of_any_kind_then_they_come_as_they_are() -> None:
    texts = ["a\0b\0", "ä€😀", "", "\n"]
    path = file("texts", json.dumps({"a": texts}), json.dumps({"a": texts[:1]}))
    got = drain(JsonLinesDataset(path, spec={"a": ps.TensorSpec((None,), str)}))
    assert [row["a"].tolist() for row in got] == [texts, texts[:1]]
    assert events(JsonLinesDataset(file("half", '{"a": "\\ud800"}', '{"a": "b"}'))) == ["failed", {"a": "b"}]


def test_given_any_bytes_then_every_buffer_and_block_gives_the_same() -> None:
    draw = random.Random(2)
    pieces = ['{"a": 1}', '{"a": [1]}', "\n", "\n", '"', "x", "ä", " ", '{"a": "' + "b" * 6000 + '"}']
    for _ in range(30):
        path = file("any", "".join(draw.choices(pieces, k=draw.randrange(30))))
        expected = events(JsonLinesDataset(path))
        for size, rows in ((0, 1), (0, 7), (100_000, 3)):
            assert events(JsonLinesDataset(path, buffer_size=size), block_rows=rows) == expected


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"fields": 3}, "expected names of fields"),
        ({"fields": []}, "expected names of fields"),
        ({"fields": ["a", "a"]}, "each name once"),
        ({"fields": ["a"], "spec": {"a": int}}, "fields or a spec, got both"),
        ({"spec": {"a": [1, 2]}}, "ps.TensorSpec"),
    ],
)
def test_given_a_wrong_argument_then_declaring_fails_with_the_users_line(
    arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(
        (TypeError, ValueError), match=rf"JsonLinesDataset.* at .*test_json_lines\.py:\d+: .*{said}"
    ):
        JsonLinesDataset("a", **arguments)
