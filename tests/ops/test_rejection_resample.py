"""`rejection_resample`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract

MEBIBYTE = 1 << 20


def rare(x: Any) -> Any:
    """One element in ten is of class 1."""
    return np.int64(x % 10 == 0)


def of_pair(x: Any, y: Any) -> Any:
    return rare(x)


def of_image(x: Any) -> Any:
    return rare(x[0])


def image(n: Any) -> Any:
    return np.full(MEBIBYTE, n % 250, np.uint8)


def share(ds: ps.Dataset) -> float:
    found = [int(kind) for kind, _ in ds]
    return sum(found) / len(found)


class TestRejectionResample(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        numbers = ps.Dataset.range(200)
        pairs = ps.Dataset.from_tensor_slices((np.arange(90), np.ones((90, 2))))
        return {
            "known": lambda: numbers.rejection_resample(rare, [0.5, 0.5], [0.9, 0.1], seed=1),
            "unseeded": lambda: numbers.rejection_resample(rare, [0.5, 0.5], [0.9, 0.1]),
            "estimated": lambda: numbers.rejection_resample(rare, [0.5, 0.5], seed=1),
            "only": lambda: numbers.rejection_resample(rare, [0.0, 1.0], [0.9, 0.1], seed=1),
            "same": lambda: numbers.rejection_resample(rare, [0.9, 0.1], [0.9, 0.1]),
            "tuples": lambda: pairs.rejection_resample(of_pair, [0.5, 0.5], seed=1),
            "empty": lambda: ps.Dataset.range(0).rejection_resample(rare, [0.5, 0.5]),
        }

    @pytest.mark.parametrize("initial", [[0.9, 0.1], None])
    @pytest.mark.parametrize("target", [0.5, 0.3])
    def test_given_a_target_then_the_classes_get_its_shares(
        self, initial: list[float] | None, target: float
    ) -> None:
        ds = ps.Dataset.range(20_000)
        ds = ds.rejection_resample(rare, [1 - target, target], initial, seed=3)
        # Some 3,600 elements and more come out: four standard deviations are 0.034.
        assert share(ds) == pytest.approx(target, abs=0.034)

    def test_given_elements_then_each_comes_with_its_class(self) -> None:
        for kind, x in ps.Dataset.range(300).rejection_resample(rare, [0.5, 0.5], seed=3):
            assert int(kind) == int(x % 10 == 0)

    def test_given_tuples_then_the_element_stays_one_part(self) -> None:
        ds = ps.Dataset.from_tensor_slices((np.arange(20), np.ones((20, 2))))
        kind, (x, y) = next(iter(ds.rejection_resample(of_pair, [0.5, 0.5], [0.5, 0.5])))
        assert (int(kind), int(x), y.shape) == (1, 0, (2,))

    def test_given_the_shares_that_are_wanted_then_every_element_comes(self) -> None:
        ds = ps.Dataset.range(30).rejection_resample(rare, [0.9, 0.1], [0.9, 0.1])
        assert [int(x) for _, x in ds] == list(range(30))
        assert len(ds) == 30

    def test_given_one_class_wanted_then_only_it_comes(self) -> None:
        ds = ps.Dataset.range(50).rejection_resample(rare, [0.0, 1.0], [0.9, 0.1])
        assert [int(x) for _, x in ds] == [0, 10, 20, 30, 40]

    def test_given_a_class_out_of_range_then_the_element_is_named(self) -> None:
        ds = ps.Dataset.range(5).rejection_resample(lambda x: x, [0.5, 0.5], [0.5, 0.5])
        it = iter(ds)
        assert [int(next(it)[0]), int(next(it)[0])] == [0, 1]
        with pytest.raises(ps.errors.FunctionError, match=r"element 2.*class from 0 to 1"):
            next(it)

    def test_given_large_elements_then_those_that_are_counted_stay_in_the_budget(self) -> None:
        ds = ps.Dataset.range(100).map(image).rejection_resample(of_image, [0.5, 0.5], seed=1)
        with ds.iterate(memory="16MiB") as it:
            assert sum(1 for _ in it) > 0
            assert it._run.ledger.peak <= 16 * MEBIBYTE

    @pytest.mark.parametrize("target", [[-0.5, 1.5], [0.0, 0.0], 3, [[0.5, 0.5]]])
    def test_given_shares_that_are_none_then_declaring_fails(self, target: Any) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"target_dist.*test_rejection_resample\.py:\d+"):
            ps.Dataset.range(3).rejection_resample(rare, target)

    def test_given_another_number_of_shares_then_declaring_fails(self) -> None:
        with pytest.raises(ps.errors.ArgumentError, match="each of the 2 classes"):
            ps.Dataset.range(3).rejection_resample(rare, [0.5, 0.5], [0.2, 0.3, 0.5])
