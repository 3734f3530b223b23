"""CRC-32C: the instruction, the tables and plain Python agree, and with the published values."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.compiled.crc32c import by_tables, crc32c_span
from penstock.kernels.crc32c import LANE, crc32c, masked, plain_crc32c

PUBLISHED = {
    b"": 0,
    b"123456789": 0xE3069283,
    bytes(32): 0x8A9136AA,
    b"\xff" * 32: 0x62A8AB43,
    bytes(range(32)): 0x46DD794E,
    bytes(range(31, -1, -1)): 0x113FDB5C,
}
"""From RFC 3720, B.4, and the catalogue of checksums."""


@pytest.mark.parametrize("data", list(PUBLISHED))
def test_given_data_with_a_published_sum_then_each_way_gives_it(data: bytes) -> None:
    flat = np.frombuffer(data, np.uint8)
    sums = [crc32c(data), plain_crc32c(data), int(by_tables(flat, 0, len(flat)))]
    assert sums == [PUBLISHED[data]] * 3


@given(st.binary(max_size=300), st.integers(0, 40), st.integers(0, 40))
def test_given_any_span_then_each_way_gives_the_same(data: bytes, before: int, after: int) -> None:
    flat = np.frombuffer(bytes(before) + data + bytes(after), np.uint8)
    stop = before + len(data)
    expected = plain_crc32c(data)
    assert int(crc32c_span(flat, before, stop)) == expected
    assert int(by_tables(flat, before, stop)) == expected


@pytest.mark.parametrize("size", [3 * LANE - 1, 3 * LANE, 3 * LANE + 1, 6 * LANE, 7 * LANE + 5])
def test_given_a_span_of_several_lanes_then_their_sums_are_put_together(size: int) -> None:
    data = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
    assert crc32c(data) == plain_crc32c(data)
    assert crc32c(data[5:]) == plain_crc32c(data[5:])


def test_given_the_sum_of_a_length_then_it_is_masked_as_files_have_it() -> None:
    # The head of an empty record, as TensorFlow writes it: eight bytes of zero, then 29 03 98 07.
    assert masked(crc32c(bytes(8))).to_bytes(4, "little") == bytes.fromhex("29039807")


@pytest.mark.slow
def test_given_a_processor_without_the_instruction_then_the_tables_are_used() -> None:
    code = (
        "import json\n"
        "from penstock.kernels.compiled.crc32c import HARDWARE\n"
        "from penstock.kernels.crc32c import crc32c\n"
        "print(json.dumps([HARDWARE, crc32c(b'123456789')]))"
    )
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=240
    )
    assert json.loads(done.stdout) == [False, 0xE3069283]
