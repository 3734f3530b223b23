"""Features as merged messages leave them: lists of several kinds, and in parts; keys that come twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from cli.inspected import by_name, look_one
from contract.frames import framed
from fuzz.example import field
from fuzz.guarded import Canaries
from penstock.blocks.columns import BytesColumn
from penstock.io.examples.found import Keys, Slot, find
from penstock.io.examples.parse import Parser
from penstock.io.examples.readings import Frame
from penstock.kernels.compiled import example_lists, example_values, example_write

EARLIER = 50
"""So many values come before a list of another kind."""


def ints(*values: int) -> bytes:
    return field(3, field(1, bytes(values)))


def floats(*values: float) -> bytes:
    return field(2, field(1, np.array(values, "<f4").tobytes()))


def strings(*values: bytes) -> bytes:
    return field(1, b"".join(field(1, value) for value in values))


def entry(feature: bytes) -> bytes:
    return field(1, field(1, b"x") + field(2, feature))


def example(feature: bytes) -> bytes:
    return field(1, entry(feature))


def one_record(raw: Any) -> BytesColumn:
    return BytesColumn(np.frombuffer(raw, np.uint8), np.array([0, len(raw)]), text=False)


def sequence(*steps: bytes) -> bytes:
    return field(2, field(1, field(1, b"x") + field(2, b"".join(field(1, step) for step in steps))))


NUMBERS = {
    "int64": (ints(*[9] * EARLIER) + strings() + ints(1) + ints(2), [1, 2]),
    "float32": (floats(*[9] * EARLIER) + strings() + floats(1) + floats(2), [1.0, 2.0]),
}
STRINGS = strings(*[b"old"] * EARLIER) + ints() + strings(b"a", b"bc")


@pytest.mark.parametrize("dtype", ["int64", "float32"])
@pytest.mark.parametrize("fixed", [True, False])
def test_given_a_kind_that_comes_again_then_it_begins_anew_and_only_its_room_is_written(
    dtype: str, fixed: bool
) -> None:
    feature, expected = NUMBERS[dtype]
    raw = example(feature)
    asked = ps.io.FixedLenFeature([2], dtype) if fixed else ps.io.VarLenFeature(dtype)
    canaries = Canaries()
    columns = Parser({"x": asked}, "test").columns(one_record(raw), Frame(1, None, canaries.empty))
    canaries.check()
    assert columns["x"].item(0).tolist() == expected


def test_given_strings_that_come_again_then_only_those_are_found_and_only_their_room_is_written() -> None:
    raw = example(STRINGS)
    (found,) = find(one_record(raw), Keys([Slot("x", "x", ps.TensorSpec((), bytes).dtype)]))
    assert found.counts.tolist() == [2]
    canaries = Canaries()
    begins, lengths = canaries.empty(2, np.int64), canaries.empty(2, np.int64)
    example_values.find_strings(found.first, found.last, found.counts, np.array([0]), begins, lengths)
    canaries.check()
    assert lengths.tolist() == [1, 2]
    got = ps.io.parse_single_example(raw, {"x": ps.io.FixedLenFeature([2], "string")})
    assert got["x"].tolist() == [b"a", b"bc"]


@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_given_such_features_in_a_sequence_example_then_the_steps_are_the_last_of_a_kind(dtype: str) -> None:
    feature, expected = NUMBERS[dtype]
    raw = sequence(feature, feature)
    for asked in (ps.io.FixedLenSequenceFeature([2], dtype), ps.io.VarLenFeature(dtype)):
        _, lists = ps.io.parse_single_sequence_example(raw, sequence_features={"x": asked})
        steps = lists["x"]
        assert (steps.to_list() if isinstance(steps, ps.Ragged) else steps.tolist()) == [expected] * 2


def test_given_such_features_in_a_file_then_inspecting_finds_those_that_count(tmp_path: Path) -> None:
    for name, feature, values in [
        ("i", NUMBERS["int64"][0], (1, 2)),
        ("f", NUMBERS["float32"][0], (1.0, 2.0)),
    ]:
        path = tmp_path / name
        path.write_bytes(framed(*[example(feature)] * 3))
        column = by_name(look_one(path))["x"]
        assert (column.values, column.range) == ((2, 2), values)
    path = tmp_path / "s"
    path.write_bytes(framed(*[example(STRINGS)] * 3))
    column = by_name(look_one(path))["x"]
    assert (column.values, column.bytes) == ((2, 2), (1, 2))


def test_given_less_room_than_values_then_every_kernel_stops_at_the_end_of_its_room() -> None:
    """As where the bytes change between counting and filling."""
    canaries = Canaries()
    for feature, dtype, kernel in (
        (ints(*[5] * 40), np.int64, example_values.fill_ints),
        (ints(*[5] * 20) + ints(*[5] * 20), np.int64, example_values.fill_ints),
        (floats(*[5] * 40), np.uint32, example_values.fill_floats),
        (floats(*[5] * 20) + floats(*[5] * 20), np.uint32, example_values.fill_floats),
    ):
        raw = example(feature)
        slot = Slot("x", "x", np.dtype(np.int64 if dtype == np.int64 else np.float32))
        (found,) = find(one_record(raw), Keys([slot]))
        out, counts = canaries.empty(3, dtype), np.array([3])
        assert kernel(found.first, found.last, counts, np.array([0]), out) == 0
        assert kernel(found.first, found.last, found.counts, np.array([0]), out) == 0
        assert kernel(found.first, found.last, counts, np.array([-1]), out) == 0
    raw = example(strings(*[b"ab"] * 40))
    slot = Slot("x", "x", ps.TensorSpec((), bytes).dtype)
    (found,) = find(one_record(raw), Keys([slot]))
    begins, lengths = canaries.empty(3, np.int64), canaries.empty(3, np.int64)
    for counts in (np.array([3]), found.counts):
        arguments = (found.first, found.last, counts, np.array([0]), begins, lengths)
        assert example_values.find_strings(*arguments) == 0
    steps = np.frombuffer(b"".join(field(1, b"") for _ in range(40)), np.uint8)
    first = np.array([steps.ctypes.data])
    for counted in (3, 40):
        arguments = (first, first + len(steps), np.array([counted]), begins, lengths)
        assert example_lists.find_features(*arguments) == 0
    canaries.check()


@pytest.mark.parametrize(("kind", "item"), [(1, 300), (3, -1)])
def test_given_values_that_grow_after_they_are_measured_then_nothing_is_written_past_the_room(
    kind: int, item: int
) -> None:
    canaries = Canaries()
    items, bounds, absent = np.ones(30, np.int64), np.array([0, 30]), np.zeros(1, np.bool_)
    payloads, entries = np.empty((2, 1), np.int64)
    example_write.measure(kind, items, bounds, absent, 1, payloads, entries)
    items[:] = item
    raw, begins, key = np.zeros(400, np.uint8), np.zeros(30, np.int64), np.zeros(1, np.uint8)
    out, places = canaries.empty(int(entries[0]), np.uint8), np.zeros(1, np.int64)
    arguments = (kind, items, raw, begins, bounds, absent, key, payloads, entries, places, out)
    assert example_write.write(*arguments) == 0
    canaries.check()


def test_given_bytes_that_change_while_they_are_parsed_then_it_is_an_error() -> None:
    raw = np.frombuffer(bytearray(example(ints(1, 2, 3))), np.uint8)
    (found,) = find(one_record(raw), Keys([Slot("x", "x", np.dtype(np.int64))]))
    raw[-1] = 200  # the last number now goes on
    raw[-2] = 200
    with pytest.raises(ps.errors.DataError, match="but they have changed"):
        found.numbers(np.array([0]), np.zeros(3, np.int64))


TWICE = [
    lambda first, second: field(1, entry(first) + entry(second)),
    lambda first, second: example(first) + example(second),
]


@pytest.mark.parametrize("record", TWICE)
def test_given_a_key_twice_then_the_last_counts_even_without_values(record: Any) -> None:
    any_number = {"x": ps.io.VarLenFeature("int64")}
    for first, second, expected in [
        (ints(1), b"", []),
        (ints(1), ints(), []),
        (ints(1), ints(2), [2]),
        (b"", ints(1), [1]),
        (strings(), ints(1), [1]),
    ]:
        got = ps.io.parse_single_example(record(first, second), any_number)
        assert got["x"].tolist() == expected
    one = {"x": ps.io.FixedLenFeature([1], "int64", [5])}
    assert ps.io.parse_single_example(record(ints(1), b""), one)["x"].tolist() == [5]
    with pytest.raises(ps.errors.DataError, match="expected int64 values, got bytes values"):
        ps.io.parse_single_example(record(ints(1), strings()), any_number)


def test_given_a_step_of_no_kind_then_the_error_says_so() -> None:
    lists = {"x": ps.io.FixedLenSequenceFeature([1], "int64")}
    with pytest.raises(ps.errors.DataError, match="step 1: expected 1 int64 value, got none of any kind"):
        ps.io.parse_single_sequence_example(sequence(ints(1), b""), sequence_features=lists)
