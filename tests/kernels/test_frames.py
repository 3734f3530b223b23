"""The frames of TFRecord files: the compiled kernels do what the plain ones do."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from contract.frames import checksum, framed, head, offsets
from penstock.kernels import frames
from penstock.kernels.frames import LIMIT, SHORT, TOO_LONG, WRONG_DATA, WRONG_LENGTH

RECORDS = [b"one", b"", b"three" * 40, b"\0" * 9]


def flat(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8).copy()


def column(records: list[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    lengths = [len(record) for record in records]
    return flat(b"".join(records)), np.cumsum([0, *lengths])


@given(
    st.lists(st.binary(max_size=40), max_size=6),
    st.lists(st.tuples(st.integers(0, 400), st.integers(1, 255)), max_size=2),
    st.integers(0, 7),
    st.integers(0, 120),
)
def test_given_frames_with_wrong_bytes_then_the_kernel_and_plain_python_agree(
    records: list[bytes], wrong: list[tuple[int, int]], most: int, room: int
) -> None:
    data = flat(framed(*records))
    for place, bits in wrong:
        if place < len(data):
            data[place] ^= bits
    outcomes = []
    for unframe in (frames.unframe, frames.plain_unframe):
        out, bounds = np.zeros(room, np.uint8), np.zeros(most + 1, np.int64)
        found = unframe(data.copy(), 0, len(data), out, 0, bounds, most)
        outcomes.append((found, out[: bounds[found[0]]].tolist(), bounds[: found[0] + 1].tolist()))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("most", [1, 3, 4, 9])
def test_given_frames_then_records_are_moved_together_in_the_same_buffer(most: int) -> None:
    data, bounds = flat(framed(*RECORDS)), np.zeros(10, np.int64)
    at = place = 0
    got: list[bytes] = []
    while at < len(data):
        rows, at, why, _ = frames.unframe(data, at, len(data), data, place, bounds, most)
        assert why == (LIMIT if rows == most else SHORT)
        got += [data[a:b].tobytes() for a, b in pairwise(bounds[: rows + 1])]
        place = int(bounds[rows])
    assert got == RECORDS
    assert data[:place].tobytes() == b"".join(RECORDS)


def test_given_bytes_that_end_anywhere_then_it_says_how_many_the_frame_has() -> None:
    data, bounds, starts = flat(framed(*RECORDS)), np.zeros(10, np.int64), offsets(RECORDS)
    for stop in range(len(data) + 1):
        rows, at, why, size = frames.unframe(data.copy(), 0, stop, data.copy(), 0, bounds, 9)
        assert rows == sum(end <= stop for end in starts[1:])
        assert (at, why) == (starts[rows], SHORT)
        assert size == (12 if stop - at < 12 else starts[rows + 1] - at)


@pytest.mark.parametrize(
    "place, why", [(3, WRONG_LENGTH), (8, WRONG_LENGTH), (13, WRONG_DATA), (16, WRONG_DATA)]
)
def test_given_a_wrong_byte_then_it_stops_there_and_says_why(place: int, why: int) -> None:
    data = flat(framed(b"ok", *RECORDS))
    data[18 + place] ^= 1
    found = frames.unframe(data, 0, len(data), data, 0, np.zeros(10, np.int64), 9)
    assert found == (1, 18, why, 12 if why == WRONG_LENGTH else 19)


def test_given_lengths_beyond_any_file_then_it_asks_for_more_bytes_than_there_are() -> None:
    for length in (TOO_LONG, 1 << 63, (1 << 64) - 1):
        data = flat(head(length) + checksum(b""))
        found = frames.unframe(data, 0, len(data), data, 0, np.zeros(10, np.int64), 9)
        assert found == (0, 0, SHORT, TOO_LONG + 16)


def test_given_no_room_for_a_record_then_it_stops_before_it() -> None:
    data, out = flat(framed(b"ab", b"cdef", b"g")), np.zeros(5, np.uint8)
    found = frames.unframe(data, 0, len(data), out, 0, np.zeros(10, np.int64), 9)
    assert found == (1, 18, LIMIT, 20)


def test_given_heads_alone_then_frames_are_located_without_their_records() -> None:
    data, bounds, starts = flat(framed(*RECORDS)), np.zeros(10, np.int64), offsets(RECORDS)
    data[starts[2] + 12] ^= 1  # a damaged record has its place all the same
    assert frames.locate(data, 0, starts[2] + 12, 1000, bounds) == (3, starts[3], SHORT, 12)
    assert (bounds[:3] - 1000).tolist() == starts[:3]
    assert frames.locate(data, 0, len(data), 0, bounds[:2]) == (2, starts[2], LIMIT, 0)
    data[starts[1] + 8] ^= 1
    assert frames.locate(data, 0, len(data), 0, bounds) == (1, starts[1], WRONG_LENGTH, 12)


@given(st.lists(st.binary(max_size=40), max_size=6), st.integers(0, 300))
def test_given_records_then_they_are_framed_as_plain_python_frames_them(
    records: list[bytes], room: int
) -> None:
    values, bounds = column(records)
    outcomes = []
    for frame in (frames.frame, frames.plain_frame):
        out = np.zeros(room, np.uint8)
        row, end = frame(values, bounds, 0, out, 0)
        outcomes.append((row, end, out[:end].tobytes()))
    assert outcomes[0] == outcomes[1]
    row, end, made = outcomes[0]
    assert made == framed(*records[:row])
    assert row == len(records) or end + 16 + len(records[row]) > room
