"""Normal numbers out of random bits."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from penstock.kernels.bits import bits, counters
from penstock.kernels.normal import normal_of


def test_given_bits_then_the_distribution_is_inverted_to_the_last_digits() -> None:
    random = bits(5, counters(0, 2000))
    ends = np.array([0, 1, 1 << 12, 1 << 30, (1 << 63) - 1, 1 << 63, (1 << 64) - 1], np.uint64)
    random = np.concatenate([random, ends])
    shares = ((random >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52
    inverse = NormalDist().inv_cdf
    expected = np.array([inverse(share) for share in shares])
    np.testing.assert_allclose(normal_of(random), expected, rtol=1e-13, atol=1e-15)


def test_given_few_or_many_then_the_bits_are_the_same() -> None:
    random = bits(6, counters(0, 1000))
    one_by_one = np.concatenate([normal_of(random[i : i + 1]) for i in range(1000)])
    assert normal_of(random).tobytes() == one_by_one.tobytes()
    assert normal_of(random.reshape(10, 100)).tobytes() == one_by_one.tobytes()
