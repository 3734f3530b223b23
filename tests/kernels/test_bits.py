"""Counter-based random bits."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kernels.bits import below, bits, counters, mix, unit

MASK = (1 << 64) - 1


def plain_bits(key: int, counter: int) -> int:
    """The kernel in plain Python, one number at a time."""

    def finish(z: int) -> int:
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        return z ^ z >> 31

    z = finish(counter * 0x9E3779B97F4A7C15 + key & MASK)
    return finish(z + mix(key) & MASK)


def test_the_kernel_equals_plain_python() -> None:
    for key in (0, 1, MASK, mix(3, 4)):
        got = bits(key, counters(5, 50))
        assert got.tolist() == [plain_bits(key, counter) for counter in range(5, 55)]


def test_given_any_order_or_size_then_a_counter_has_the_same_bits() -> None:
    whole = bits(9, counters(0, 1000))
    assert (bits(9, counters(300, 10)) == whole[300:310]).all()
    shuffled = np.array([7, 999, 0], np.uint64)
    assert (bits(9, shuffled) == whole[[7, 999, 0]]).all()


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 1000, (1 << 32) - 1, 1 << 40])
def test_numbers_below_a_bound_are_below_it_and_even(bound: int) -> None:
    got = below(bits(3, counters(0, 40_000)), bound)
    assert got.min() >= 0
    assert got.max() < bound
    parts = min(bound, 10)
    counts = np.bincount((got.astype(object) * parts // bound).astype(np.int64), minlength=parts)
    expected = 40_000 / parts
    # Chi-square with at most 9 degrees of freedom: 40 is beyond one chance in 100,000.
    assert ((counts - expected) ** 2 / expected).sum() < 40


def test_floats_are_in_the_unit_interval_and_even() -> None:
    got = unit(bits(11, counters(0, 40_000)))
    assert got.min() >= 0
    assert got.max() < 1
    counts = np.histogram(got, 20, (0, 1))[0]
    assert ((counts - 2000) ** 2 / 2000).sum() < 60


def test_neighbouring_keys_and_counters_are_not_alike() -> None:
    rows = np.array([bits(key, counters(0, 256)) for key in range(64)])
    ones = np.unpackbits(rows.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 0.005
    for other in (np.roll(rows, 1, axis=0), np.roll(rows, 1, axis=1)):
        differing = np.unpackbits((rows ^ other).view(np.uint8)).mean()
        assert abs(differing - 0.5) < 0.005


def test_mixing_tells_orders_and_sizes_apart() -> None:
    keys = {mix(1, 2), mix(2, 1), mix(1), mix(1, 0), mix(0, 1), mix(), mix(-1), mix(1 << 64)}
    assert len(keys) == 8
