"""Every feature of records: the compiled kernel finds what plain Python finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.kernels.example_entries import (
    FULL,
    LIST,
    NEW_KEY,
    RIGHT,
    STEP,
    WIDTH,
    WRONG,
    find_entries,
    plain_entries,
)

NAMES = ("a", "bb", "", "long name")
VALUES = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4),
    st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=4),
    st.lists(st.binary(max_size=5), min_size=1, max_size=4),
)
EXAMPLES = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4).map(ps.io.serialize_example)


def column(records: list[bytes]) -> tuple[Any, Any]:
    return np.frombuffer(b"".join(records), np.uint8), np.cumsum([0, *[len(one) for one in records]])


def found(records: list[bytes], names: tuple[str, ...] = NAMES, room: int = 64, most: int = 64) -> Any:
    values, offsets = column(records)
    raw = [name.encode() for name in names]
    keys, bounds = column(raw)
    out, fault = np.zeros((room, WIDTH), np.int64), np.zeros(2, np.int64)
    row, count, why = find_entries(values, offsets, 0, keys, bounds, most, out, fault)
    return row, out[:count, :5].tolist(), why, fault.tolist()


def plain(records: list[bytes]) -> list[list[int]]:
    return [
        [row, part, NAMES.index(name.decode()), kind, len(values)]
        for row, record in enumerate(records)
        for part, name, kind, values in plain_entries(record)
    ]


@given(st.lists(EXAMPLES, max_size=4))
def test_given_examples_then_the_kernel_and_plain_python_find_the_same(records: list[bytes]) -> None:
    assert found(records) == (len(records), plain(records), RIGHT, [0, 0])


@given(EXAMPLES.filter(len), st.integers(0, 200), st.integers(1, 255))
def test_given_a_wrong_byte_then_both_refuse_the_record_or_find_the_same(
    record: bytes, place: int, bits: int
) -> None:
    raw = bytearray(record)
    raw[place % len(raw)] ^= bits
    row, entries, why, _ = found([bytes(raw)])
    try:
        expected = plain_entries(bytes(raw))
    except ValueError:
        assert why in (WRONG, NEW_KEY)
    else:
        # A byte of a name may have changed: then it is not one of those that are known.
        known = all(name.decode(errors="replace") in NAMES for _, name, _, _ in expected)
        if why != WRONG:  # groups, which plain Python refuses, are none that a writer makes
            assert (row, why) == ((1, RIGHT) if known else (0, NEW_KEY))
        assert why == NEW_KEY or entries == (plain([bytes(raw)]) if known else entries)


def test_given_a_sequence_example_then_lists_and_their_steps_are_entries() -> None:
    record = ps.io.serialize_sequence_example({"a": [1]}, {"bb": [[1, 2], [3], []]})
    row, entries, why, _ = found([record])
    assert (row, why) == (1, RIGHT)
    assert [entry[1:] for entry in entries][1:] == [
        [LIST, 1, 0, 3],
        [STEP, 1, 3, 2],
        [STEP, 1, 3, 1],
        [STEP, 1, 0, 0],  # without values it is of no kind
    ]
    assert entries == plain([record])


def test_given_a_new_name_then_it_says_where_it_is_and_keeps_whole_records() -> None:
    records = [ps.io.serialize_example({"a": [1]}), ps.io.serialize_example({"new": [1]})]
    row, entries, why, (begin, size) = found(records)
    assert (row, len(entries), why) == (1, 1, NEW_KEY)
    assert b"".join(records)[begin : begin + size] == b"new"


def test_given_as_many_names_as_are_told_apart_then_others_have_no_number() -> None:
    _, entries, why, _ = found([ps.io.serialize_example({"new": [1]})], most=len(NAMES))
    assert why == RIGHT
    assert [entry[2] for entry in entries] == [-1]


def test_given_too_little_room_then_it_says_how_much_a_record_needs() -> None:
    record = ps.io.serialize_example({"a": [1], "bb": [2.0], "": [b"x"]})
    assert found([record], room=2)[1:] == ([], FULL, [3, WIDTH])


@pytest.mark.parametrize("record", [b"\x12\x34\x56", b"plain text", b"\x1a\x00", b"\x0a\x05abc"])
def test_given_other_bytes_then_they_are_no_example(record: bytes) -> None:
    assert found([record])[2] == WRONG
    with pytest.raises(ValueError):
        plain_entries(record)
