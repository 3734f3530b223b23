"""The order of a shuffle, compared with a plain one written row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kernels import order
from penstock.kernels.bits import bits, counters
from penstock.kernels.order import Drain, chain, draws, permuted

KEYS = st.integers(0, 2**64 - 1)


def plain_draw(key: int, number: int, size: int) -> int:
    return int(bits(key, counters(number, 1))[0]) * size >> 64


def plain_order(key: int, size: int, count: int) -> list[int]:
    """The definition: fill, then draw and replace, then drain."""
    slots, out = list(range(min(size, count))), []
    for number in range(size, count):
        slot = plain_draw(key, number - size, size)
        out.append(slots[slot])
        slots[slot] = number
    return out + [slots[slot] for slot in Drain(key, len(slots)).slots(0, len(slots)).tolist()]


def order_in_blocks(key: int, size: int, count: int, block: int) -> list[int]:
    """The same with the kernels, `block` inputs at a time."""
    slots, out = np.arange(min(size, count)), []
    for first in range(size, count, block):
        coming = np.arange(first, min(first + block, count))
        drawn = draws(key, first - size, len(coming), size)
        earlier, last = chain(drawn, size)
        out += np.where(earlier < 0, slots[drawn], coming[earlier]).tolist()
        slots[drawn[last]] = coming[last]
    return out + slots[Drain(key, len(slots)).slots(0, len(slots))].tolist()


@given(KEYS, st.integers(1, 40), st.integers(0, 120), st.integers(1, 130))
@settings(max_examples=200, deadline=None)
def test_given_any_sizes_then_blocks_and_rows_give_one_order(
    key: int, size: int, count: int, block: int
) -> None:
    got = order_in_blocks(key, size, count, block)
    assert got == plain_order(key, size, count)
    assert sorted(got) == list(range(count))


@given(KEYS, st.integers(1, 1 << 20), st.integers(0, 1 << 40))
@settings(deadline=None)
def test_given_any_start_then_draws_are_the_same_one_by_one(key: int, size: int, start: int) -> None:
    together = draws(key, start, 8, size).tolist()
    assert together == [plain_draw(key, start + i, size) for i in range(8)]


@given(st.lists(st.integers(0, 12), max_size=60), st.sampled_from([13, 1 << 20]))
def test_given_draws_then_the_chain_links_the_same_slots(slots: list[int], size: int) -> None:
    earlier, last = chain(np.array(slots, np.int64), size)
    for i, slot in enumerate(slots):
        before = [j for j in range(i) if slots[j] == slot]
        assert earlier[i] == (before[-1] if before else -1)
    assert last.tolist() == [i for i, slot in enumerate(slots) if slot not in slots[i + 1 :]]


@given(KEYS, st.integers(1, 3000), st.integers(1, 500))
@settings(max_examples=60, deadline=None)
def test_given_a_computed_permutation_then_any_part_of_it_is_the_same(key: int, size: int, part: int) -> None:
    parts = [permuted(key, size, at, min(part, size - at)) for at in range(0, size, part)]
    whole = np.concatenate(parts)
    assert sorted(whole.tolist()) == list(range(size))
    assert (permuted(key, size, 0, size) == whole).all()


def test_given_a_key_then_the_order_is_the_one_that_it_always_was() -> None:
    # A seed means an order, from release to release: these may not change.
    assert order_in_blocks(7, 4, 12, 5) == [0, 3, 1, 6, 4, 5, 2, 7, 8, 9, 11, 10]
    assert permuted(7, 10, 0, 10).tolist() == [7, 8, 0, 5, 3, 9, 1, 4, 6, 2]


def test_given_a_large_drain_then_it_is_a_permutation_that_takes_no_memory() -> None:
    drain = Drain(3, order.SORTED + 1)
    assert drain._sorted is None
    assert len(np.unique(drain.slots(0, drain.size))) == drain.size


@pytest.mark.parametrize("size", [7, 64])
def test_given_many_keys_then_a_computed_permutation_is_even(size: int) -> None:
    counts, keys = np.zeros((size, size)), 4000
    for key in range(keys):
        counts[np.arange(size), permuted(key * 7919, size, 0, size)] += 1
    expected = keys / size
    freedom = (size - 1) ** 2
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi_square - freedom) < 6 * (2 * freedom) ** 0.5, chi_square


def test_given_neighbours_then_a_computed_permutation_parts_them() -> None:
    size = 100_000
    values = permuted(11, size, 0, size).astype(float)
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.02
    assert abs(np.corrcoef(np.arange(size), values)[0, 1]) < 0.02
