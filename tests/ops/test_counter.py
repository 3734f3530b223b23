"""`Dataset.counter`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, same
from contract.streams import events


class TestCounter(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "plain": ps.Dataset.counter,
            "down": lambda: ps.Dataset.counter(start=10, step=-3),
            "narrow": lambda: ps.Dataset.counter(dtype=np.int32),
            "floats": lambda: ps.Dataset.counter(0.5, 0.25, np.float32),
        }

    def test_given_start_and_step_then_numbers_follow(self) -> None:
        assert events(ps.Dataset.counter(), limit=3) == [0, 1, 2]
        assert events(ps.Dataset.counter(10, -2), limit=4) == [10, 8, 6, 4]
        assert events(ps.Dataset.counter(0.5, 0.25, np.float32), limit=3) == [0.5, 0.75, 1.0]

    def test_given_a_dtype_then_numbers_have_it(self) -> None:
        assert same(list(ps.Dataset.counter(dtype=np.int32).take(1)), [np.int32(0)])

    def test_given_no_end_then_the_cardinality_says_so(self) -> None:
        assert ps.Dataset.counter().cardinality() == ps.INFINITE

    def test_given_wrong_arguments_then_declaring_fails_and_names_the_line(self) -> None:
        with pytest.raises(TypeError, match=r"counter\(start=\) at .*test_counter\.py:\d+"):
            ps.Dataset.counter(start=0.5)
        with pytest.raises(TypeError, match=r"counter\(step=\)"):
            ps.Dataset.counter(step="1")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="dtype of numbers"):
            ps.Dataset.counter(dtype="S3")
