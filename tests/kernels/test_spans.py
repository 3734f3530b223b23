"""Gathering spans of unequal length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels import spans
from penstock.kernels.spans import gather_spans, offsets_of, scatter_spans


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


@pytest.mark.parametrize("seed", range(4))
def test_the_compiled_kernel_moves_bytes_as_the_plain_ways_do(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numba  # noqa: F401  (the kernel is used where this is loaded)

    random = np.random.default_rng(seed)
    values = random.integers(0, 256, 5000, np.uint8)
    values.flags.writeable = False
    lengths = random.integers(0, 90, 300)
    starts = random.integers(0, 4900, 300)
    places = random.permutation(300) * 90
    calls = []
    move = spans._move_compiled
    monkeypatch.setattr(spans, "_move_compiled", lambda *args: calls.append(1) or move(*args))
    compiled, offsets = gather_spans(values, starts, lengths)
    laid = np.zeros(27_000, np.uint8)
    scatter_spans(laid, places, values, starts, lengths)
    assert len(calls) == 2
    monkeypatch.setattr(spans, "FEW", 1 << 30)
    plain, same_offsets = gather_spans(values, starts, lengths)
    plainly_laid = np.zeros(27_000, np.uint8)
    scatter_spans(plainly_laid, places, values, starts, lengths)
    assert compiled.tolist() == plain.tolist()
    assert offsets.tolist() == same_offsets.tolist()
    assert laid.tolist() == plainly_laid.tolist()
