"""The kernels of CSV against their plain twins."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernels.csv import (
    COUNTED,
    FEW,
    GOOD,
    INVALID,
    MANY,
    MISSING,
    Found,
    floats,
    integers,
    plain_float,
    plain_integer,
    plain_scan,
    scan,
    strings,
)

NOTHING = np.zeros(0, np.uint8)
NO_COLUMNS = np.zeros(0, np.int64)
letters = st.lists(st.sampled_from([b"a", b"1", b",", b'"', b"\n", b"\r", b'""', b'"\n']), max_size=30)


def array(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8).copy()


def cut(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The texts end to end, where they begin and where they end."""
    lengths = np.array([len(text) for text in texts], np.int64)
    ends = np.cumsum(lengths)
    return array(b"".join(texts)), ends - lengths, ends


@settings(max_examples=400, deadline=None)
@given(letters.map(b"".join), st.booleans(), st.booleans(), st.integers(1, 4))
def test_given_any_bytes_then_the_records_are_those_of_the_twin(
    data: bytes, last: bool, quotes: bool, width: int
) -> None:
    found = Found(width, len(data) + 1)
    rows, used = scan(array(data), last, ord(","), quotes, NO_COLUMNS, COUNTED, found)
    expected, taken = plain_scan(data, last, b",", quotes)
    assert (rows, used) == (len(expected), taken)
    for row, (state, fields) in enumerate(expected):
        if state == GOOD and len(fields) != width:
            state = FEW if len(fields) < width else MANY
        assert found.status[row] == state
        if state == GOOD:
            got = [
                strings(
                    array(data),
                    found.starts[i, row : row + 1].copy(),
                    found.ends[i, row : row + 1].copy(),
                    found.escaped[i, row : row + 1].copy(),
                    NOTHING,
                    NOTHING,
                    np.zeros(1, np.uint8),
                )[0].tobytes()
                for i in range(width)
            ]
            assert got == fields


def test_given_room_for_few_records_then_the_rest_is_left() -> None:
    found = Found(1, 2)
    assert scan(array(b"a\nb\nc\n"), True, ord(","), True, NO_COLUMNS, COUNTED, found) == (2, 4)


numerals = st.text("0123456789+- \t.eE_xnaif", max_size=22).map(str.encode) | st.integers(
    -(1 << 65), 1 << 65
).map(lambda x: str(x).encode())


@settings(max_examples=300, deadline=None)
@given(st.lists(numerals, min_size=1, max_size=20), st.sampled_from([np.int32, np.int64]))
def test_given_any_texts_then_whole_numbers_are_those_of_the_twin(texts: list[bytes], dtype: type) -> None:
    limits = np.iinfo(dtype)
    out, state = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.uint8)
    integers(*cut(texts), NOTHING, int(limits.min), int(limits.max), out, state)
    for i, text in enumerate(texts):
        expected = plain_integer(text, int(limits.min), int(limits.max))
        if not text:
            assert state[i] == MISSING
        elif expected is None:
            assert state[i] == INVALID, text
        else:
            assert state[i] == GOOD and out[i] == expected, text


def assert_floats_agree(texts: list[bytes]) -> None:
    out, state = np.zeros(len(texts)), np.zeros(len(texts), np.uint8)
    floats(*cut(texts), NOTHING, out, state)
    for i, text in enumerate(texts):
        expected = plain_float(text)
        if not text:
            assert state[i] == MISSING
        elif expected is None:
            assert state[i] == INVALID, text
        else:
            assert state[i] == GOOD, text
            same = (
                np.isnan(out[i]) if expected != expected else out[i].tobytes() == struct.pack("d", expected)
            )
            assert same, (text, out[i], expected)


@settings(max_examples=300, deadline=None)
@given(st.lists(numerals | st.floats().map(lambda x: repr(x).encode()), min_size=1, max_size=20))
def test_given_any_texts_then_floats_are_those_of_python_to_the_last_bit(texts: list[bytes]) -> None:
    assert_floats_agree(texts)


@pytest.mark.parametrize("digits", [3, 9, 15, 16, 17, 19, 20, 25])
def test_given_many_digits_and_powers_then_floats_are_those_of_python_to_the_last_bit(digits: int) -> None:
    draw = random.Random(digits)
    texts = []
    for _ in range(3_000):
        whole = "".join(draw.choices("0123456789", k=digits))
        point = draw.randrange(digits + 1)
        power = draw.choice(["", f"e{draw.randrange(-360, 330)}", f"E{draw.randrange(-30, 30)}"])
        texts.append(f"{draw.choice('+- ')}{whole[:point]}.{whole[point:]}{power}".encode())
    assert_floats_agree(texts)


def test_given_numbers_halfway_between_floats_then_they_are_rounded_as_python_does() -> None:
    draw = random.Random(5)
    texts = []
    for _ in range(500):
        value = draw.getrandbits(53) | 1 << 52
        texts += [
            f"{2 * value + 1}e{draw.randrange(3)}".encode(),
            f"{2 * value + 1}.{draw.randrange(2)}".encode(),
        ]
    assert_floats_agree(
        [*texts, b"9007199254740993", b"5e-324", b"2.4703282292062327e-324", b"1.7976931348623159e308"]
    )


def test_given_what_stands_for_nothing_then_a_string_is_its_filling() -> None:
    data, starts, ends = cut([b"NA", b"", b"x", b"NAN"])
    state = np.zeros(4, np.uint8)
    values, offsets = strings(data, starts, ends, np.zeros(4, bool), array(b"NA"), array(b"--"), state)
    assert values.tobytes() == b"----xNAN" and offsets.tolist() == [0, 2, 4, 5, 8]
    assert state.tolist() == [MISSING, MISSING, GOOD, GOOD]
