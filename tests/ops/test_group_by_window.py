"""`group_by_window`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract

MEBIBYTE = 1 << 20


def third(x: Any) -> Any:
    return x % 3


def of_pair(x: Any, y: Any) -> Any:
    return (x + int(y)) % 2


def batched(_: Any, group: ps.Dataset) -> ps.Dataset:
    return group.batch(4)


def as_it_is(_: Any, group: ps.Dataset) -> ps.Dataset:
    return group


def summed(key: Any, group: ps.Dataset) -> ps.Dataset:
    return ps.Dataset.from_tensors((key, len(group)))


def nothing(_: Any, group: ps.Dataset) -> ps.Dataset:
    return group.take(0)


def take_one(_: Any, group: ps.Dataset) -> ps.Dataset:
    return group.take(1).map(pixel)


def one_more(key: Any) -> Any:
    return key + 1


def image(n: Any) -> Any:
    return np.full(MEBIBYTE, n % 4, np.uint8)


def pixel(x: Any) -> Any:
    return x[0]


def group_key(x: Any) -> int:
    return int(x[0])


def rows_for(keys: Any, size: int, groups: int) -> int:
    """How many rows it takes to fill so many groups."""
    counts: dict[int, int] = {}
    for row, key in enumerate(keys.tolist()):
        counts[key] = counts.get(key, 0) + 1
        if counts[key] == size:
            counts[key], groups = 0, groups - 1
        if not groups:
            return row + 1
    raise AssertionError


def events(ds: ps.Dataset, block_rows: int) -> list[str]:
    """What comes, in order: batches, and the elements that failed."""
    got, it = [], iter(ds.with_options(ps.Options(block_rows=block_rows)))
    while True:
        try:
            got.append(str(next(it).tolist()))
        except ps.errors.ElementError as error:
            got.append(f"element {error.number}")
        except StopIteration:
            return got


class TestGroupByWindow(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        numbers = ps.Dataset.range(23)
        pairs = ps.Dataset.from_tensor_slices((np.arange(9), np.arange(9.0)))
        return {
            "batched": lambda: numbers.group_by_window(third, batched, window_size=4),
            "short": lambda: numbers.group_by_window(third, batched, 7),
            "sizes": lambda: numbers.group_by_window(third, batched, window_size_func=one_more),
            "tuples": lambda: pairs.group_by_window(of_pair, batched, 3),
            "keys": lambda: numbers.group_by_window(third, summed, 4),
            "nothing": lambda: numbers.group_by_window(third, nothing, 4),
            "empty": lambda: ps.Dataset.range(0).group_by_window(third, batched, 4),
        }

    def test_given_a_window_size_then_full_groups_come_first_and_the_rest_by_key(self) -> None:
        ds = ps.Dataset.range(10, -1, -1).group_by_window(third, batched, window_size=2)
        # 10 9 8 7: key 1 is full; 6: key 0; 5: key 2; 4, 3, 2, 1: 1 and 0 and 2 again; 0 is left.
        assert [x.tolist() for x in ds] == [[10, 7], [9, 6], [8, 5], [4, 1], [3, 0], [2]]

    def test_given_groups_at_the_end_then_they_come_in_the_order_of_their_keys(self) -> None:
        ds = ps.Dataset.from_tensor_slices([5, -3, 2, 5, -3])
        got = [(int(k), int(n)) for k, n in ds.group_by_window(lambda x: x, summed, 100)]
        assert got == [(-3, 2), (2, 1), (5, 2)]

    def test_given_a_size_function_then_each_key_has_its_own(self) -> None:
        ds = ps.Dataset.range(9).group_by_window(third, batched, window_size_func=one_more)
        assert [x.tolist() for x in ds] == [[0], [3], [1, 4], [6], [2, 5, 8], [7]]

    def test_given_a_key_function_that_fails_then_the_groups_stay_whole(self) -> None:
        def key(x: Any) -> Any:
            if x == 3:
                raise RuntimeError("three")
            return 0

        it = iter(ps.Dataset.range(8).group_by_window(key, batched, 3))
        assert next(it).tolist() == [0, 1, 2]
        with pytest.raises(ps.errors.FunctionError, match="element 3"):
            next(it)
        assert [x.tolist() for x in it] == [[4, 5, 6], [7]]

    @pytest.mark.parametrize("key", [0.5, "a", np.array([1, 2]), None])
    def test_given_a_key_that_is_no_whole_number_then_it_is_named(self, key: Any) -> None:
        with pytest.raises(ps.errors.DataError, match="a key that is one whole number"):
            next(iter(ps.Dataset.range(3).group_by_window(lambda _: key, batched, 2)))

    def test_given_a_size_below_one_then_it_is_an_error(self) -> None:
        ds = ps.Dataset.range(3).group_by_window(third, batched, window_size_func=lambda _: 0)
        with pytest.raises(ps.errors.DataError, match="window size of at least 1, got 0"):
            next(iter(ds))

    def test_given_take_below_then_no_more_is_read_than_one_group_needs(self) -> None:
        read: list[int] = []
        source = ps.Dataset.range(100).map(lambda x: read.append(int(x)) or x)
        next(iter(source.group_by_window(lambda _: 0, batched, 4)))
        assert read == [0, 1, 2, 3]

    @pytest.mark.parametrize("rows", [1, 3, 16, 64])
    @pytest.mark.parametrize("groups", [1, 2, 3, 5, 9])
    @pytest.mark.parametrize(("reduce", "each"), [(batched, 1), (as_it_is, 4)])
    @pytest.mark.parametrize("keys", [np.arange(100) % 3, np.arange(100) // 7 % 5])
    def test_given_several_groups_below_then_no_more_is_read_than_they_need(
        self, rows: int, groups: int, reduce: Any, each: int, keys: Any
    ) -> None:
        read: list[int] = []
        source = ps.Dataset.range(100).map(lambda x: read.append(int(x)) or x)
        ds = source.group_by_window(lambda x: keys[int(x)], reduce, 4).take(groups * each)
        list(ds.with_options(ps.Options(block_rows=rows)))
        assert len(read) == rows_for(keys, size=4, groups=groups)

    def test_given_many_groups_below_then_their_rows_are_read_together(self) -> None:
        ds = ps.Dataset.range(512).group_by_window(lambda x: x % 4, lambda _, group: group.batch(8), 8)
        with ds.with_options(ps.Options(block_rows=16)).iterate() as it:
            assert len(list(it)) == 64
            assert it._run.meters["range"].blocks < 64

    @pytest.mark.parametrize("rows", [1, 4, 64])
    def test_given_keys_that_fail_among_full_groups_then_they_come_in_their_place(self, rows: int) -> None:
        def key(x: Any) -> Any:
            if x in (5, 6, 11, 15):
                raise RuntimeError("no key")
            return x % 2

        ds = ps.Dataset.range(17).group_by_window(key, batched, 3)
        assert events(ds, block_rows=rows) == [
            "[0, 2, 4]",
            "element 5",
            "element 6",
            "[1, 3, 7]",
            "element 11",
            "[8, 10, 12]",
            "element 15",
            "[14, 16]",
            "[9, 13]",
        ]

    def test_given_groups_larger_than_the_budget_then_they_are_held_to_it(self) -> None:
        ds = ps.Dataset.range(400).map(image)
        ds = ds.group_by_window(group_key, lambda _, group: group.map(pixel), window_size=100)
        with ds.iterate(memory="16MiB") as it:
            got = [int(x) for x in it]
            assert it._run.ledger.peak <= 16 * MEBIBYTE
        assert got == [key for key in range(4) for _ in range(100)]

    def test_given_groups_that_are_done_then_their_rows_are_dropped(self) -> None:
        ds = ps.Dataset.range(64).map(image).group_by_window(group_key, take_one, window_size=2)
        with ds.iterate(memory="256MiB") as it:
            assert sum(1 for _ in it) == 32
            assert it._run.ledger.accounts["group_by_window"].peak < 16 * MEBIBYTE

    def test_given_a_group_batched_beyond_the_budget_then_the_error_names_the_op(self) -> None:
        ds = ps.Dataset.range(400).map(image)
        ds = ds.group_by_window(group_key, lambda _, group: group.batch(100), window_size=100)
        with (
            ds.iterate(memory="16MiB") as it,
            pytest.raises(ps.errors.BudgetError, match=r"group_by_window at .*:\d+ needs 100 MiB"),
        ):
            next(it)

    def test_given_a_group_that_the_user_keeps_then_it_can_be_read_while_the_run_goes_on(
        self,
    ) -> None:
        kept: list[ps.Dataset] = []

        def keep(_: Any, group: ps.Dataset) -> ps.Dataset:
            kept.append(group)
            return group

        with ps.Dataset.range(8).group_by_window(third, keep, 2).iterate() as it:
            for _ in range(5):
                next(it)
            assert [int(x) for x in kept[0]] == [0, 3]
        with pytest.raises(ps.errors.ClosedError):
            list(kept[0])

    def test_given_no_dataset_then_what_came_is_named(self) -> None:
        ds = ps.Dataset.range(3).group_by_window(third, lambda key, group: key, 1)
        with pytest.raises(ps.errors.ArgumentTypeError, match=r"reduce_func.*dataset, got the int64"):
            next(iter(ds))

    def test_given_both_sizes_or_neither_then_declaring_fails(self) -> None:
        for sizes in ({}, {"window_size": 2, "window_size_func": one_more}):
            with pytest.raises(
                ps.errors.ArgumentError,
                match=r"test_group_by_window\.py:\d+.*either window_size or",
            ):
                ps.Dataset.range(3).group_by_window(third, batched, **sizes)
