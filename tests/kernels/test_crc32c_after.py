"""CRC-32C of bytes that come in parts."""

from __future__ import annotations

import random

import pytest

from penstock.kernels.crc32c import plain_crc32c
from penstock.kernels.crc32c_after import crc32c_after


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 100, 5000])
def test_given_bytes_cut_anywhere_then_the_sum_is_that_of_the_whole(size: int) -> None:
    data = random.Random(size).randbytes(size)
    for cut in {0, 1, 2, 3, 4, 7, size // 2, size - 3, size - 1, size}:
        if 0 <= cut <= size:
            parts = crc32c_after(crc32c_after(0, data[:cut]), data[cut:])
            assert parts == plain_crc32c(data)


def test_given_a_buffer_then_it_is_left_as_it_was() -> None:
    data = bytearray(b"12345678")
    crc32c_after(77, data)
    assert data == b"12345678"
