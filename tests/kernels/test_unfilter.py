"""The filters of PNG: the compiled kernel is what its plain twin is."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kernels.compiled.unfilter import unfilter as compiled
from penstock.kernels.unfilter import paeth, unfilter


@pytest.mark.parametrize("pixel", [1, 2, 3, 4, 6, 8])
def test_given_random_rows_then_both_give_the_same(pixel: int) -> None:
    rng = np.random.default_rng(pixel)
    for pixels in (1, 2, 13):
        width = pixel * pixels
        coded = rng.integers(0, 256, (40, width + 1), np.uint8)
        coded[:, 0] %= 5
        flat = np.concatenate([rng.integers(0, 256, 7, np.uint8), coded.ravel()])
        expected, got = (np.empty((40, width), np.uint8) for _ in range(2))
        assert unfilter(flat, 7, pixel, expected) == -1
        assert compiled(flat, 7, pixel, got) == -1
        assert np.array_equal(got, expected)


def test_given_known_rows_then_each_filter_is_undone() -> None:
    rows = [[0, 10, 20], [1, 10, 20], [2, 5, 5], [3, 4, 4], [4, 1, 1]]
    out = np.empty((5, 2), np.uint8)
    assert compiled(np.array(rows, np.uint8).ravel(), 0, 1, out) == -1
    # By hand: as it is; left; up; (left + up) // 2; whichever is nearest to left + up - corner.
    assert out.tolist() == [[10, 20], [10, 30], [15, 35], [11, 27], [12, 28]]
    assert (paeth(12, 27, 11), paeth(5, 5, 5), paeth(1, 9, 2)) == (27, 5, 9)


@pytest.mark.parametrize("kernel", [unfilter, compiled])
def test_given_an_unknown_filter_then_its_row_is_named(kernel: object) -> None:
    coded = np.array([0, 1, 2, 7, 1, 2], np.uint8)
    assert kernel(coded, 0, 1, np.empty((2, 2), np.uint8)) == 1  # type: ignore[operator]
