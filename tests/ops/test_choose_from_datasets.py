"""`Dataset.choose_from_datasets`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract


def three() -> list[ps.Dataset]:
    return [ps.Dataset.range(10 * i, 10 * i + n) for i, n in enumerate((4, 2, 7))]


def choose(*choices: int, stop: bool = True) -> ps.Dataset:
    chosen = ps.Dataset.from_tensor_slices(np.array(choices, np.int64))
    return ps.Dataset.choose_from_datasets(three(), chosen, stop_on_empty_dataset=stop)


def fails(n: Any) -> Any:
    if n % 10 == 1:
        raise RuntimeError("one")
    return n


class TestChooseFromDatasets(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        turns = ps.Dataset.range(3).repeat()
        dicts = [
            ps.Dataset.from_tensor_slices({"a": np.arange(5), "b": np.arange(5.0)}),
            ps.Dataset.from_tensor_slices({"b": np.ones(5), "a": np.arange(5)}),
        ]
        return {
            "some": lambda: choose(0, 2, 2, 1, 0, 2),
            "stops": lambda: ps.Dataset.choose_from_datasets(three(), turns),
            "passes": lambda: ps.Dataset.choose_from_datasets(three(), turns, False),
            "dicts": lambda: ps.Dataset.choose_from_datasets(dicts, ps.Dataset.range(2)),
            "none": lambda: choose(),
        }

    def test_given_choices_then_elements_come_in_that_order(self) -> None:
        assert [int(x) for x in choose(2, 0, 0, 1, 2)] == [20, 0, 1, 10, 21]

    def test_given_an_ended_dataset_then_it_stops_or_is_passed_over(self) -> None:
        choices = (1, 1, 0, 1, 0, 2)
        assert [int(x) for x in choose(*choices)] == [10, 11, 0]
        assert [int(x) for x in choose(*choices, stop=False)] == [10, 11, 0, 1, 20]

    @pytest.mark.parametrize("rows", [1, 3, 64])
    def test_given_an_error_then_it_uses_up_its_choice(self, rows: int) -> None:
        datasets = [one.map(fails) for one in three()]
        ds = ps.Dataset.choose_from_datasets(datasets, ps.Dataset.range(3).repeat(2))
        it = iter(ds.with_options(ps.Options(block_rows=rows)))
        got: list[Any] = []
        for _ in range(6):
            try:
                got.append(int(next(it)))
            except ps.errors.FunctionError:
                got.append("E")
        assert got == [0, 10, 20, "E", "E", "E"]
        assert next(it, None) is None

    @pytest.mark.parametrize("rows", [1, 3, 64])
    def test_given_an_error_in_one_then_what_the_others_have_read_is_not_lost(self, rows: int) -> None:
        bad, _, good = three()
        turns = ps.Dataset.from_tensor_slices([0, 1] * 4)
        ds = ps.Dataset.choose_from_datasets([bad.map(fails), good], turns).with_options(
            ps.Options(block_rows=rows)
        )
        it = iter(ds)
        assert [int(next(it)) for _ in range(2)] == [0, 20]
        with pytest.raises(ps.errors.FunctionError):
            next(it)
        assert [int(x) for x in it] == [21, 2, 22, 3, 23]

    def test_given_a_choice_out_of_range_then_it_is_named_and_the_rest_goes_on(self) -> None:
        it = iter(choose(0, 3, 0))
        assert int(next(it)) == 0
        with pytest.raises(ps.errors.DataError, match=r"from 0 to 2.*got 3 in element 1"):
            next(it)
        assert [int(x) for x in it] == [1]

    def test_given_take_below_then_no_dataset_is_asked_for_more_than_is_chosen(self) -> None:
        read: list[int] = []
        datasets = [one.map(lambda x: read.append(int(x)) or x) for one in three()]
        ds = ps.Dataset.choose_from_datasets(datasets, ps.Dataset.range(3).repeat()).take(4)
        list(ds.with_options(ps.Options(block_rows=64)))
        assert sorted(read) == [0, 1, 10, 20]

    def test_given_dicts_in_another_order_then_keys_go_with_their_values(self) -> None:
        datasets = [
            ps.Dataset.from_tensors({"a": 1, "b": 2.0}),
            ps.Dataset.from_tensors({"b": 4.0, "a": 3}),
        ]
        got = list(ps.Dataset.choose_from_datasets(datasets, ps.Dataset.range(2)))
        assert [(int(x["a"]), float(x["b"])) for x in got] == [(1, 2.0), (3, 4.0)]

    def test_given_endless_datasets_then_the_choices_count(self) -> None:
        endless = [one.repeat() for one in three()]
        assert len(ps.Dataset.choose_from_datasets(endless, ps.Dataset.range(3))) == 3
        assert choose(0, 1).op.cardinality == ps.UNKNOWN

    def test_given_wrong_datasets_then_declaring_fails(self) -> None:
        one = ps.Dataset.range(3)
        two = ps.Dataset.from_tensor_slices((np.ones(3), np.ones(3)))
        floats = ps.Dataset.from_tensor_slices(np.ones(3))
        for datasets, choices in (([one, two], one), ([one, floats], one), ([one, one], floats)):
            with pytest.raises(ps.errors.ArgumentTypeError, match=r"test_choose_from_datasets\.py:\d+"):
                ps.Dataset.choose_from_datasets(datasets, choices)
        with pytest.raises(ps.errors.ArgumentError, match="at least one dataset"):
            ps.Dataset.choose_from_datasets([], one)
        with pytest.raises(ps.errors.ArgumentTypeError, match="expected datasets, got 3"):
            ps.Dataset.choose_from_datasets([one, 3], one)  # type: ignore[list-item]


@pytest.mark.parametrize("turns", [1, 50])
def test_given_elements_that_grow_then_the_budget_holds(turns: int) -> None:
    def grows(x: Any) -> Any:
        return np.full((1 << 19) if x >= 300 else 64, int(x) & 255, np.uint8)

    parts = [ps.Dataset.range(400).map(grows) for _ in range(2)]
    ds = ps.Dataset.choose_from_datasets(parts, ps.Dataset.range(800).map(lambda x: x // turns % 2))
    with ds.iterate(memory="8MiB") as it:
        got = [int(x[0]) for x in it]
        report = it.report()
    assert got == [int(i // (2 * turns) * turns + i % turns) & 255 for i in range(800)]
    assert report.peak <= report.budget


@pytest.mark.parametrize("stop", [True, False])
def test_given_large_elements_then_all_come_and_from_a_state_at_any_element_the_rest(stop: bool) -> None:
    def large(x: Any) -> Any:
        return np.full(1 << 16, int(x), np.int32)

    parts = [part.map(large) for part in three()]
    chosen = ps.Dataset.from_tensor_slices(np.array([0, 0, 2, 1, 1, 2, 1, 2, 0, 2, 0, 0, 2], np.int64))
    ds = ps.Dataset.choose_from_datasets(parts, chosen, stop_on_empty_dataset=stop)
    ds = ds.with_options(ps.Options(memory="4MiB"))
    expected = [0, 1, 20, 10, 11, 21] if stop else [0, 1, 20, 10, 11, 21, 22, 2, 23, 3, 24]
    assert [int(x[0]) for x in ds] == expected
    for had in range(len(expected)):
        with ds.iterate() as it:
            for _ in range(had):
                next(it)
            state = it.state()
        assert [int(x[0]) for x in ds.iterate(state=state)] == expected[had:]
