"""`pad_to_cardinality`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, same
from contract.streams import FAILED, events, failing


def as_dict(x: Any) -> dict[str, Any]:
    return {"x": np.full(2 + int(x), int(x)), "inner": {"w": b"w" * int(x)}}


class TestPadToCardinality(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        rows = {"a": np.ones((7, 2), np.float32), "b": {"c": [b"x"] * 7, "d": ["y"] * 7}}
        return {
            "nest": lambda: ps.Dataset.from_tensor_slices(rows).apply(ps.pad_to_cardinality(12)),
            "nothing to add": lambda: ps.Dataset.from_tensor_slices(rows).apply(ps.pad_to_cardinality(7)),
            "batches": lambda: ps.Dataset.from_tensor_slices(rows).batch(3).apply(ps.pad_to_cardinality(5)),
            "spec unknown": lambda: (
                ps.Dataset.range(5).map(as_dict).apply(ps.pad_to_cardinality(9, mask_key="real"))
            ),
            "empty": lambda: ps.Dataset.from_tensor_slices(rows).take(0).apply(ps.pad_to_cardinality(3)),
        }

    def test_given_a_target_then_zeros_follow_with_a_false_mask(self) -> None:
        rows = {"a": np.array([[1.0, 2.0]], np.float32), "b": np.array([b"x"], object)}
        got = list(ps.Dataset.from_tensor_slices(rows).apply(ps.pad_to_cardinality(2)))
        assert same(
            got,
            [
                {"a": np.array([1, 2], np.float32), "b": b"x", "valid": np.True_},
                {"a": np.zeros(2, np.float32), "b": b"", "valid": np.False_},
            ],
        )

    def test_given_shapes_that_vary_then_padding_has_those_of_the_first_element(self) -> None:
        ds = ps.Dataset.range(2).map(as_dict).apply(ps.pad_to_cardinality(3))
        assert [element["x"].tolist() for element in ds] == [[0, 0], [1, 1, 1], [0, 0]]

    def test_given_a_key_of_that_name_then_the_mask_takes_its_place(self) -> None:
        ds = ps.Dataset.from_tensor_slices({"valid": [5], "x": [6]})
        got = list(ds.apply(ps.pad_to_cardinality(1)))
        assert same(got, [{"x": np.int64(6), "valid": np.True_}])

    def test_given_failing_elements_then_the_padding_stays_the_same(self) -> None:
        ds = failing(3, 1).map(lambda x: {"x": x}).apply(ps.pad_to_cardinality(4))
        assert events(ds) == [
            {"x": 0, "valid": True},
            FAILED,
            {"x": 2, "valid": True},
            {"x": 0, "valid": False},
        ]

    def test_given_the_wrong_input_then_declaring_fails_and_names_the_line(self) -> None:
        rows = ps.Dataset.from_tensor_slices({"x": [1, 2, 3]})
        with pytest.raises(ValueError, match=r"test_pad_to_cardinality\.py:\d+.*at most 2"):
            rows.apply(ps.pad_to_cardinality(2))
        with pytest.raises(ValueError, match="known length"):
            rows.repeat().apply(ps.pad_to_cardinality(4))
        with pytest.raises(ValueError, match="known length"):
            rows.filter(lambda e: True).apply(ps.pad_to_cardinality(4))
        with pytest.raises(TypeError, match="that are dicts"):
            ps.Dataset.range(3).apply(ps.pad_to_cardinality(4))

    def test_given_elements_that_only_the_run_knows_to_be_no_dicts_then_it_fails_there(
        self,
    ) -> None:
        ds = ps.Dataset.range(3).map(lambda x: (x, int(x))).apply(ps.pad_to_cardinality(4))
        with pytest.raises(TypeError, match="that are dicts"):
            list(ds)
