"""`flat_map`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import FAILED
from penstock.graph import track


def up_to(n: Any) -> ps.Dataset:
    return ps.Dataset.range(n)


def pairs(n: Any) -> ps.Dataset:
    return ps.Dataset.from_tensor_slices({"a": np.full(3, n), "b": np.ones((3, 2))})


def shuffled(n: Any) -> ps.Dataset:
    return ps.Dataset.range(n).shuffle(3, seed=5)


def plus(x: Any, y: Any) -> ps.Dataset:
    return ps.Dataset.from_tensors(x + y)


def events(it: ps.Iterator) -> tuple[list[Any], list[Any]]:
    """All that comes, and the state after each."""
    seen: list[Any] = []
    states: list[Any] = []
    while True:
        try:
            seen.append(int(next(it)))
        except StopIteration:
            return seen, states
        except ps.errors.ElementError:
            seen.append(FAILED)
        states.append(it.state())


class TestFlatMap(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        two = (np.arange(5), np.arange(5))
        return {
            "growing": lambda: ps.Dataset.range(9).flat_map(up_to),
            "dicts": lambda: ps.Dataset.range(5).flat_map(pairs),
            "random": lambda: ps.Dataset.range(9).flat_map(shuffled),
            "unpacked": lambda: ps.Dataset.from_tensor_slices(two).flat_map(plus),
            "nested": lambda: ps.Dataset.range(4).flat_map(up_to).flat_map(up_to),
            "empty": lambda: ps.Dataset.range(0).flat_map(up_to),
        }

    def test_given_datasets_then_they_follow_one_another(self) -> None:
        assert [int(x) for x in ps.Dataset.range(4).flat_map(up_to)] == [0, 0, 1, 0, 1, 2]

    def test_given_a_function_that_fails_then_the_next_element_follows(self) -> None:
        def fails(n: Any) -> ps.Dataset:
            if n == 1:
                raise RuntimeError("one")
            return ps.Dataset.from_tensors(n).repeat(2)

        it = iter(ps.Dataset.range(3).flat_map(fails))
        assert [int(next(it)), int(next(it))] == [0, 0]
        with pytest.raises(ps.errors.FunctionError, match="element 1"):
            next(it)
        assert [int(x) for x in it] == [2, 2]

    def test_given_functions_that_fail_then_a_state_at_any_element_goes_on_with_exactly_the_rest(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(n: Any) -> ps.Dataset:
            if n % 5 == 3:
                raise RuntimeError("three")
            return ps.Dataset.from_tensors(n)

        monkeypatch.setattr(track, "SHARE", float("inf"))  # a state is taken wherever there is one to take
        ds = ps.Dataset.range(40).flat_map(fails).with_options(ps.Options(block_rows=8))
        with ds.iterate() as it:
            seen, states = events(it)
        assert seen == [FAILED if n % 5 == 3 else n for n in range(40)]
        for place, state in enumerate(states, 1):
            with ds.iterate(state=state) as it:
                assert events(it)[0] == seen[place:], f"after element {place}"

    def test_given_an_error_inside_then_the_dataset_goes_on_after_it(self) -> None:
        def check(x: Any) -> Any:
            if x == 1:
                raise RuntimeError("one")
            return x

        def inner(n: Any) -> ps.Dataset:
            return ps.Dataset.range(3).map(check).map(lambda x: x + 10 * n)

        it = iter(ps.Dataset.range(2).flat_map(inner))
        got: list[Any] = []
        for _ in range(6):
            try:
                got.append(int(next(it)))
            except ps.errors.FunctionError:
                got.append("error")
        assert got == [0, "error", 2, 10, "error", 12]
        assert next(it, None) is None

    def test_given_something_else_than_a_dataset_then_it_and_the_line_are_named(self) -> None:
        ds = ps.Dataset.range(3).flat_map(lambda n: [n])
        with pytest.raises(
            ps.errors.ArgumentTypeError, match=r"test_flat_map\.py:\d+.*dataset, got the list"
        ):
            next(iter(ds))

    def test_given_another_structure_then_both_are_named(self) -> None:
        def changing(n: Any) -> ps.Dataset:
            return ps.Dataset.from_tensors((n, n) if n else n)

        it = iter(ps.Dataset.range(2).flat_map(changing))
        next(it)
        with pytest.raises(ps.errors.DataError, match=r"leaf and then \(leaf, leaf\)"):
            next(it)
        assert next(it, None) is None

    def test_given_take_below_then_no_more_datasets_are_opened_than_needed(self) -> None:
        asked: list[int] = []

        def note(n: Any) -> ps.Dataset:
            asked.append(int(n))
            return ps.Dataset.range(2)

        assert len(list(ps.Dataset.range(100).flat_map(note).take(3))) == 3
        assert asked == [0, 1]

    @pytest.mark.parametrize("rows", [1, 4, 64])
    @pytest.mark.parametrize("count", [1, 5, 31])
    def test_given_take_below_then_no_more_elements_are_read_than_needed(self, rows: int, count: int) -> None:
        read: list[int] = []
        source = ps.Dataset.range(100).map(lambda x: read.append(int(x)) or x)
        ds = source.flat_map(lambda n: ps.Dataset.from_tensors(n).repeat(3)).take(count)
        assert len(list(ds.with_options(ps.Options(block_rows=rows)))) == count
        assert read == list(range(-(-count // 3)))

    def test_given_many_rows_below_then_their_elements_are_read_together(self) -> None:
        ds = ps.Dataset.range(512).flat_map(lambda n: ps.Dataset.from_tensors(n))
        with ds.with_options(ps.Options(block_rows=16)).iterate() as it:
            assert [int(x) for x in it] == list(range(512))
            assert it._run.meters["range"].blocks < 128

    def test_given_no_function_then_declaring_fails(self) -> None:
        with pytest.raises(ps.errors.ArgumentTypeError, match=r"map_func.*test_flat_map\.py:\d+"):
            ps.Dataset.range(3).flat_map(3)  # type: ignore[arg-type]
