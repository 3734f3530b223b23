"""The next frame behind damaged bytes: the compiled kernel finds what plain Python finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from contract.frames import framed
from penstock.kernels.frame_search import next_head, plain_next_head


@given(st.binary(max_size=60), st.lists(st.binary(max_size=9), max_size=2), st.integers(0, 70))
def test_given_bytes_before_frames_then_the_kernel_and_plain_python_agree(
    before: bytes, records: list[bytes], start: int
) -> None:
    data = np.frombuffer(before + framed(*records), np.uint8)
    assert next_head(data, start, len(data)) == plain_next_head(data, start, len(data))


def test_given_a_frame_after_noise_then_its_place_is_found_and_none_after_the_last() -> None:
    data = np.frombuffer(b"noise" + framed(b"record"), np.uint8)
    assert next_head(data, 0, len(data)) == 5
    assert next_head(data, 6, len(data)) == -1
    assert next_head(data, 0, 16) == -1
