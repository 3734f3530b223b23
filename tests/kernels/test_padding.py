"""Rows of unequal length laid into one array."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kernels import padding
from penstock.kernels.spans import offsets_of


@pytest.mark.parametrize("rows", [1, 7, 64, 1000])
@pytest.mark.parametrize("width", [0, 1, 5, 100, padding.LONG - 1, padding.LONG, 700])
@pytest.mark.parametrize("mask", [1, 300, padding.MASK])
def test_given_rows_of_any_length_then_each_is_at_its_place_and_the_rest_is_padding(
    rows: int, width: int, mask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(padding, "MASK", mask)
    draw = np.random.default_rng(rows + width)
    lengths = draw.integers(0, width + 1, rows)
    lengths[draw.integers(rows)] = width
    before = 3  # values before the first row are another's
    values = draw.integers(1, 1000, before + int(lengths.sum()))
    offsets = offsets_of(lengths) + before
    out = np.full((rows, width), 7, np.int64)
    padding.fill_padded(values, offsets, out, -1)
    at = before
    for row, length in zip(out, lengths.tolist(), strict=True):
        assert row.tolist() == [*values[at : at + length].tolist(), *[-1] * (width - length)]
        at += length
