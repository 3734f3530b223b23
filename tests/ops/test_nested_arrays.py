"""Arrays that a user's function makes inside a run: the datasets made of them are on the op's account."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as ps

MIB = 1 << 20
TABLE = np.ones((64, MIB // 16), np.uint8)


def made(i: Any) -> ps.Dataset:
    return ps.Dataset.from_tensor_slices(np.full((16, MIB // 16), i, np.uint8))


def made_of_bytes(i: Any) -> ps.Dataset:
    rows = np.frombuffer(bytes([int(i) % 256]) * MIB, np.uint8)
    return ps.Dataset.from_tensor_slices(rows.reshape(16, -1))


def made_and_cut(i: Any) -> ps.Dataset:
    rows = np.full((16, MIB // 16), i, np.uint8)
    return ps.Dataset.from_tensor_slices((rows[:4], rows[4:8])).map(lambda x, _: x)


def made_twice(i: Any) -> ps.Dataset:
    return made(i).repeat(2)


def with_threads(i: Any) -> ps.Dataset:
    return made(i).map(lambda x: x[:1], num_parallel_calls=2)


def with_more_inside(i: Any) -> ps.Dataset:
    return made(i).interleave(ps.Dataset.from_tensors, 2, num_parallel_calls=2)


def read_ahead(i: Any) -> ps.Dataset:
    return made(i).prefetch(1)


def one_element(i: Any) -> ps.Dataset:
    return ps.Dataset.from_tensors(np.full(MIB, i, np.uint8))


def of_the_users(i: Any) -> ps.Dataset:
    return ps.Dataset.from_tensor_slices(TABLE[i % 8 : i % 8 + 8])


@pytest.fixture(autouse=True)
def _without_the_collector() -> Iterator[None]:
    """What a dataset has made goes when it is closed, and not when somebody finds it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("function", [with_threads, with_more_inside, read_ahead])
def test_given_threads_of_their_own_then_what_they_had_goes_with_them(
    function: Callable[[Any], ps.Dataset],
) -> None:
    arrays = []

    def noted(i: Any) -> ps.Dataset:
        ds = function(i)
        source = ds.op
        while source.inputs:
            source = source.inputs[0]
        arrays.append(weakref.ref(source.tensors[0]))
        return ds

    with ps.Dataset.range(12).flat_map(noted).iterate(memory="64MiB") as it:
        for _ in it:
            alive = sum(array() is not None for array in arrays)
            assert alive <= 2, "that one, and the one before it"


@pytest.mark.parametrize("function", [made, made_of_bytes, made_and_cut, made_twice, one_element])
def test_given_arrays_made_in_the_function_then_those_that_are_open_count_and_no_others(
    function: Callable[[Any], ps.Dataset],
) -> None:
    most = 0
    with ps.Dataset.range(40).interleave(function, cycle_length=8).iterate(memory="64MiB") as it:
        for _ in it:
            most = max(most, it._run.ledger.account("interleave").pinned)
        peak = it._run.ledger.peak
        it._run.ledger.settle()
        assert it._run.ledger.reserved == 0
    assert most == 8 * MIB
    assert peak <= 24 * MIB, "eight open ones, and what is in flight"


def test_given_the_users_own_arrays_in_the_function_then_they_count_for_nothing() -> None:
    with ps.Dataset.range(40).interleave(of_the_users, cycle_length=8).iterate(memory="64MiB") as it:
        next(it)
        assert [account.pinned for account in it._run.ledger.accounts.values() if account.pinned] == []


def test_given_datasets_of_before_the_run_then_their_arrays_count_for_nothing() -> None:
    datasets = [made(i) for i in range(8)]
    with (
        ps.Dataset.range(8)
        .interleave(lambda i: datasets[i].skip(0), cycle_length=8)
        .iterate(memory="4MiB") as it
    ):
        assert sum(1 for _ in it) == 128


def test_given_more_open_arrays_than_fit_then_the_error_names_the_op_and_what_to_do() -> None:
    with (
        ps.Dataset.range(40).interleave(made, cycle_length=8).iterate(memory="4MiB") as it,
        pytest.raises(ps.errors.BudgetError, match=r"^interleave at .*open fewer datasets at once"),
    ):
        list(it)


def test_given_two_arrays_of_which_one_fits_then_after_the_error_neither_is_held() -> None:
    def both(i: Any) -> ps.Dataset:
        return ps.Dataset.from_tensors((np.full(MIB, i, np.uint8), np.full(4 * MIB, i, np.uint8)))

    with ps.Dataset.range(2).flat_map(both).iterate(memory="4MiB") as it:
        with pytest.raises(ps.errors.BudgetError, match=r"^flat_map at"):
            next(it)
        assert it._run.ledger.account("flat_map").pinned == 0
        assert it._run.ledger.reserved == 0


def test_given_many_large_arrays_of_which_little_is_taken_then_flat_map_keeps_few_of_them_alive() -> None:
    peak = 0
    ds = ps.Dataset.range(200).flat_map(lambda i: made(i).take(1))
    with ds.iterate(memory="64MiB") as it:
        for _ in it:
            peak = max(peak, it._run.ledger.peak)
    assert peak <= 8 * MIB


def test_given_many_small_arrays_then_they_are_merged_into_blocks_as_before() -> None:
    small = ps.Dataset.range(4000).flat_map(lambda i: ps.Dataset.from_tensor_slices(np.full(2, i)))
    with small.with_options(ps.Options(block_rows=100)).iterate(memory="64MiB") as it:
        assert sum(1 for _ in it) == 8000
        assert it._run.meters["flat_map"].blocks <= 160


def test_given_a_pass_over_nested_datasets_then_their_rows_are_right() -> None:
    rows = [int(x[0]) for x in ps.Dataset.range(6).interleave(made_twice, cycle_length=3, block_length=16)]
    assert rows == [i for half in ((0, 1, 2), (3, 4, 5)) for _ in range(2) for i in half for _ in range(16)]
