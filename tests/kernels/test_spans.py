"""Gathering spans of unequal length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.spans import gather_spans, offsets_of


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 400)), max_size=30))
def test_given_spans_of_any_length_then_they_are_laid_end_to_end(
    spans: list[tuple[int, int]],
) -> None:
    values = np.arange(1000)
    starts = np.array([start for start, _ in spans], np.int64)
    lengths = np.array([length for _, length in spans], np.int64)
    out, offsets = gather_spans(values, starts, lengths)
    expected = [value for start, length in spans for value in range(start, start + length)]
    assert out.tolist() == expected
    assert offsets.tolist() == offsets_of(lengths).tolist()


@pytest.mark.parametrize("length", [1, 3, 47, 48, 200])
def test_given_many_spans_then_both_ways_of_gathering_agree(length: int) -> None:
    values = np.arange(100_000, dtype=np.int32)
    starts = np.arange(9000)[::-1] * 11
    out, _ = gather_spans(values, starts, np.full(9000, length, np.int64))
    assert (out.reshape(9000, length) == starts[:, None] + np.arange(length)).all()
