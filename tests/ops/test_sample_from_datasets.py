"""`Dataset.sample_from_datasets`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, drain


def three() -> list[ps.Dataset]:
    return [ps.Dataset.range(100 * i, 100 * i + n) for i, n in enumerate((40, 20, 30))]


def endless() -> list[ps.Dataset]:
    return [ps.Dataset.from_tensors(i).repeat() for i in range(3)]


def shares(ds: ps.Dataset, count: int) -> list[float]:
    """How often 0, 1 and 2 come among the first elements."""
    found = np.bincount([int(x) for x in ds.take(count)], minlength=3)
    return list(found / count)


class TestSampleFromDatasets(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        sample = ps.Dataset.sample_from_datasets
        varying = ps.Dataset.from_tensor_slices(np.eye(3)).repeat(4)
        return {
            "alike": lambda: sample(three()),
            "weights": lambda: sample(three(), [0.2, 0.7, 0.1], seed=3),
            "stops": lambda: sample(three(), seed=3, stop_on_empty_dataset=True),
            "again": lambda: sample(three(), seed=3, rerandomize_each_iteration=True),
            "varying": lambda: sample(three(), varying, seed=3),
            "endless": lambda: sample(endless(), [0.5, 0.0, 0.5]),
            "one": lambda: sample(three()[:1]),
            "weightless": lambda: sample(three(), [0.0, 0.0, 0.0]),
        }

    def test_given_no_stop_then_every_element_comes_once_and_in_its_order(self) -> None:
        got = [int(x) for x in ps.Dataset.sample_from_datasets(three(), seed=1)]
        expected = [*range(40), *range(100, 120), *range(200, 230)]
        assert sorted(got) == expected
        for i in range(3):
            mine = [x for x in got if x // 100 == i]
            assert mine == sorted(mine)
        assert got != expected

    def test_given_stop_then_it_ends_where_an_ended_dataset_is_drawn(self) -> None:
        ds = ps.Dataset.sample_from_datasets(three(), seed=1, stop_on_empty_dataset=True)
        got = [int(x) for x in ds]
        ends = [sum(1 for x in got if x // 100 == i) for i in range(3)]
        assert any(n == end for n, end in zip(ends, (40, 20, 30), strict=True))
        assert len(got) < 90

    def test_given_weights_then_they_are_the_shares(self) -> None:
        # Of 20,000 draws, four standard deviations are 0.014.
        got = shares(ps.Dataset.sample_from_datasets(endless(), [1.0, 2.0, 7.0], seed=5), 20_000)
        assert np.allclose(got, [0.1, 0.2, 0.7], atol=0.014)

    def test_given_a_dataset_of_weights_then_each_draw_has_its_own(self) -> None:
        weights = ps.Dataset.from_tensor_slices([[1.0, 0, 0], [0, 0, 2.0], [0, 1.0, 0]]).repeat(2)
        got = [int(x) for x in ps.Dataset.sample_from_datasets(endless(), weights)]
        assert got == [0, 2, 1, 0, 2, 1]

    def test_given_a_weight_of_zero_then_that_dataset_is_never_drawn(self) -> None:
        got = [int(x) for x in ps.Dataset.sample_from_datasets(three(), [1.0, 0.0, 0.0])]
        assert got == list(range(40))

    def test_given_epochs_then_they_are_alike_unless_said_otherwise(self) -> None:
        def epochs(again: bool | None) -> tuple[list[Any], list[Any]]:
            ds = ps.Dataset.sample_from_datasets(endless(), seed=2, rerandomize_each_iteration=again)
            first, second = (drain(ds, limit=50, epoch=epoch) for epoch in (0, 1))
            return first, second

        first, second = epochs(None)
        assert first == second
        first, second = epochs(True)
        assert first != second

    def test_given_take_below_then_no_dataset_is_asked_for_more_than_is_drawn(self) -> None:
        read: list[int] = []
        datasets = [one.map(lambda x: read.append(int(x)) or x) for one in three()]
        ds = ps.Dataset.sample_from_datasets(datasets, seed=4).take(7)
        got = [int(x) for x in ds.with_options(ps.Options(block_rows=64))]
        assert sorted(read) == sorted(got)

    def test_when_counted_then_only_what_is_certain_is_said(self) -> None:
        sample = ps.Dataset.sample_from_datasets
        mixed = [ps.Dataset.range(3), ps.Dataset.range(3).repeat()]
        assert sample(mixed).op.cardinality == ps.INFINITE
        assert sample(mixed, stop_on_empty_dataset=True).op.cardinality == ps.UNKNOWN
        assert sample(mixed, [1.0, 0.0]).op.cardinality == 3
        assert sample(three()).op.cardinality == ps.UNKNOWN

    def test_given_shapes_that_differ_then_the_spec_covers_both(self) -> None:
        one = ps.Dataset.from_tensor_slices(np.ones((2, 3)))
        two = ps.Dataset.from_tensor_slices(np.ones((2, 4)))
        spec = ps.Dataset.sample_from_datasets([one, two]).op.spec
        assert spec.nest() == ps.TensorSpec([None], np.float64)

    @pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0, 0.0], [1.0, np.nan, 0.0]])
    def test_given_wrong_weights_then_declaring_fails(self, weights: list[float]) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"test_sample_from_datasets\.py:\d+.*weights"):
            ps.Dataset.sample_from_datasets(three(), weights)

    def test_given_no_datasets_then_declaring_fails(self) -> None:
        with pytest.raises(ps.errors.ArgumentError, match="at least one dataset"):
            ps.Dataset.sample_from_datasets([])
        with pytest.raises(ps.errors.ArgumentTypeError, match="weights"):
            ps.Dataset.sample_from_datasets(three(), "abc")


@pytest.mark.parametrize("wrong", [ps.Dataset.counter(), 3, None, [ps.Dataset.range(2), [1]]])
def test_given_no_list_of_datasets_then_declaring_fails_and_names_the_line(wrong: Any) -> None:
    said = r"\(datasets=\) at .*test_sample_from_datasets\.py:\d+: expected"
    with pytest.raises(ps.errors.ArgumentTypeError, match=f"sample_from_datasets{said}"):
        ps.Dataset.sample_from_datasets(wrong)
    with pytest.raises(ps.errors.ArgumentTypeError, match=f"choose_from_datasets{said}"):
        ps.Dataset.choose_from_datasets(wrong, ps.Dataset.range(2))
