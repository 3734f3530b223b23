"""`window`."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, same

MEBIBYTE = 1 << 20


def batched(window: ps.Dataset) -> ps.Dataset:
    return window.batch(100)


def both(x: ps.Dataset, y: ps.Dataset) -> ps.Dataset:
    return ps.Dataset.zip(x.batch(100), y.batch(100))


def size_of(window: ps.Dataset) -> int:
    return len(window)


def large(n: Any) -> Any:
    return np.full(MEBIBYTE, n % 251, np.uint8)


def first(image: Any) -> Any:
    return image[0]


def lists(ds: ps.Dataset) -> list[list[int]]:
    return [[int(x) for x in window] for window in ds]


class TestWindow(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        numbers = ps.Dataset.range(17)
        pairs = (np.arange(9), np.arange(18.0).reshape(9, 2))
        return {
            "whole": lambda: numbers.window(5).flat_map(batched),
            "overlapping": lambda: numbers.window(5, 2).flat_map(batched),
            "apart": lambda: numbers.window(2, 6).flat_map(batched),
            "strided": lambda: numbers.window(3, 1, 4).flat_map(batched),
            "dropped": lambda: numbers.window(5, 2, 2, True).flat_map(batched),
            "tuples": lambda: ps.Dataset.from_tensor_slices(pairs).window(4, 3).flat_map(both),
            "unread": lambda: numbers.window(5, 2).map(size_of),
            "empty": lambda: ps.Dataset.range(0).window(3).flat_map(batched),
        }

    def test_given_a_short_tail_then_it_is_kept(self) -> None:
        assert lists(ps.Dataset.range(5).window(3, 2)) == [[0, 1, 2], [2, 3, 4], [4]]

    def test_given_drop_remainder_then_only_whole_windows_come(self) -> None:
        got = lists(ps.Dataset.range(5).window(3, 2, drop_remainder=True))
        assert got == [[0, 1, 2], [2, 3, 4]]

    def test_given_a_stride_then_windows_skip_elements(self) -> None:
        assert lists(ps.Dataset.range(7).window(3, 1, 2, True)) == [[0, 2, 4], [1, 3, 5], [2, 4, 6]]

    def test_given_a_shift_above_the_size_then_elements_between_are_passed_over(self) -> None:
        assert lists(ps.Dataset.range(9).window(2, 4)) == [[0, 1], [4, 5], [8]]

    @pytest.mark.parametrize("size", [0, 1, 3, 5, 8])
    @pytest.mark.parametrize("drop", [False, True])
    def test_when_counted_then_the_cardinality_is_right(self, size: int, drop: bool) -> None:
        for shift in (1, 2, 6):
            for stride in (1, 3):
                ds = ps.Dataset.range(size).window(2, shift, stride, drop)
                assert len(ds) == sum(1 for _ in ds), (shift, stride)

    def test_given_a_dict_then_its_leaves_are_datasets(self) -> None:
        ds = ps.Dataset.from_tensor_slices({"a": np.arange(3), "b": (np.ones(3), np.zeros(3))})
        with ds.window(2).iterate() as it:
            window = next(it)
            assert isinstance(window["b"], tuple)
            assert same(list(window["a"]), [np.int64(0), np.int64(1)])
            assert same(list(window["b"][1]), [np.float64(0), np.float64(0)])
            assert len(window["a"]) == 2
            assert window["a"].element_spec == ps.TensorSpec([], np.int64)

    def test_given_a_window_that_is_held_then_it_can_be_read_again_while_the_run_goes_on(
        self,
    ) -> None:
        with ps.Dataset.range(100).window(3, 1).iterate() as it:
            oldest = next(it)
            for _ in range(50):
                next(it)
            assert [int(x) for x in oldest] == [0, 1, 2]
            assert [int(x) for x in oldest] == [0, 1, 2]

    def test_given_a_closed_run_then_reading_its_window_says_so(self) -> None:
        with ps.Dataset.range(9).window(3).iterate() as it:
            window = next(it)
        with pytest.raises(ps.errors.ClosedError, match=r"window at .*test_window\.py:\d+"):
            list(window)

    def test_given_a_window_then_pickling_it_says_why_not(self) -> None:
        with (
            ps.Dataset.range(9).window(3).iterate() as it,
            pytest.raises(TypeError, match="cannot be pickled"),
        ):
            pickle.dumps(next(it))

    def test_given_an_error_above_then_the_windows_go_on_with_what_was_there(self) -> None:
        def fails(n: Any) -> Any:
            if n == 3:
                raise RuntimeError("three")
            return n

        it = iter(ps.Dataset.range(6).map(fails).window(2).flat_map(batched))
        assert next(it).tolist() == [0, 1]
        with pytest.raises(ps.errors.FunctionError):
            next(it)
        assert [x.tolist() for x in it] == [[2, 4], [5]]

    @pytest.mark.parametrize(("shift", "needed"), [(1, 12), (3, 26), (5, 40), (9, 68)])
    def test_given_several_windows_below_then_no_more_is_read_than_they_need(
        self, shift: int, needed: int
    ) -> None:
        read: list[int] = []
        source = ps.Dataset.range(100).map(lambda x: read.append(int(x)) or x)
        ds = source.window(5, shift=shift).take(8).with_options(ps.Options(block_rows=64))
        assert len(list(ds)) == 8
        assert read == list(range(needed))

    def test_given_many_windows_below_then_their_rows_are_read_together(self) -> None:
        ds = ps.Dataset.range(512).window(5, shift=1).with_options(ps.Options(block_rows=16))
        with ds.iterate() as it:
            assert sum(1 for _ in it) == 512
            assert it._run.meters["range"].blocks < 64

    def test_given_windows_larger_than_the_budget_then_they_are_held_to_it(self) -> None:
        ds = ps.Dataset.range(310).map(large).window(300, 10, drop_remainder=True)
        with ds.flat_map(lambda window: window.map(first)).iterate(memory="16MiB") as it:
            got = [int(x) for x in it]
            assert it._run.ledger.peak <= 16 * MEBIBYTE
        assert got == [n % 251 for n in [*range(300), *range(10, 310)]]

    def test_given_windows_that_are_dropped_then_their_rows_are_too(self) -> None:
        ds = ps.Dataset.range(64).map(large).window(2)
        with ds.iterate(memory="64MiB") as it:
            for window in it:
                del window
            gc.collect()
            assert it._run.ledger.accounts["window"].peak < 12 * MEBIBYTE

    @pytest.mark.parametrize("arguments", [(0,), (3, 0), (3, 1, 0), (-1,)])
    def test_given_wrong_numbers_then_declaring_fails(self, arguments: tuple[int, ...]) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"window\(.*test_window\.py:\d+"):
            ps.Dataset.range(3).window(*arguments)
