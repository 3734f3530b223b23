"""`Dataset.random`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract
from contract.streams import events


def first(ds: ps.Dataset, count: int = 5) -> list[int]:
    return [int(x) for x in ds.take(count)]


class TestRandom(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "seeded": lambda: ps.Dataset.random(seed=3),
            "unseeded": ps.Dataset.random,
            "another each time": lambda: ps.Dataset.random(3, rerandomize_each_iteration=True),
        }

    def test_given_any_seed_then_every_epoch_gives_the_same(self) -> None:
        for ds in (ps.Dataset.random(seed=4), ps.Dataset.random()):
            taken = ds.take(5)
            assert list(taken) == list(taken)

    def test_given_rerandomize_then_every_epoch_gives_another_and_the_seed_fixes_them(self) -> None:
        one, two = (ps.Dataset.random(seed=4, rerandomize_each_iteration=True).take(5) for _ in range(2))
        epochs = [list(one), list(one)]
        assert epochs[0] != epochs[1]
        assert epochs == [list(two), list(two)]

    def test_given_another_seed_then_other_numbers_come(self) -> None:
        assert first(ps.Dataset.random(seed=1)) != first(ps.Dataset.random(seed=2))
        assert first(ps.Dataset.random()) != first(ps.Dataset.random())

    def test_given_many_then_they_fill_32_bits_evenly(self) -> None:
        values = np.array(events(ps.Dataset.random(seed=1).batch(100_000), limit=1)[0])
        assert values.min() >= 0
        assert values.max() < 2**32
        share = np.bincount(values >> 29, minlength=8) / len(values)
        assert np.abs(share - 1 / 8).max() < 0.005

    def test_given_no_end_then_the_spec_and_the_cardinality_say_so(self) -> None:
        ds = ps.Dataset.random()
        assert ds.element_spec == ps.TensorSpec((), "int64")
        assert ds.cardinality() == ps.INFINITE

    def test_given_a_wrong_seed_then_declaring_fails_and_names_the_line(self) -> None:
        with pytest.raises(TypeError, match=r"random\(seed=\) at .*test_random\.py:\d+"):
            ps.Dataset.random(seed="x")  # type: ignore[arg-type]
