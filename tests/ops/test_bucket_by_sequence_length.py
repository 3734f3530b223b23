"""`bucket_by_sequence_length`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract

BOUNDS, SIZES = [3, 5], [2, 3, 2]


def ones(n: Any) -> Any:
    return np.ones(n % 7, np.int32)


def few(n: Any) -> Any:
    return np.ones(n % 5, np.int32)


def labelled(n: Any) -> Any:
    return {"x": np.ones(n % 7), "n": n}


def length(element: Any) -> int:
    return len(element["x"])


def size(element: Any) -> Any:
    return np.size(element)


class TestBucketBySequenceLength(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        numbers = ps.Dataset.range(25)
        shapes = {"x": [None], "n": []}

        def bucketed(ds: ps.Dataset, by: Any = len, **how: Any) -> ps.Dataset:
            return ds.bucket_by_sequence_length(by, BOUNDS, SIZES, **how)

        return {
            "padded": lambda: bucketed(numbers.map(ones)),
            "dropped": lambda: bucketed(numbers.map(ones), drop_remainder=True),
            "dict": lambda: bucketed(numbers.map(labelled), length, padded_shapes=shapes),
            "equal": lambda: bucketed(numbers, size, no_padding=True),
            "boundary": lambda: bucketed(numbers.map(few), padded_shapes=[None], pad_to_bucket_boundary=True),
        }

    def test_given_lengths_then_a_batch_has_those_of_one_bucket(self) -> None:
        ds = ps.Dataset.range(12).map(ones).bucket_by_sequence_length(len, BOUNDS, SIZES)
        # The lengths are 0 1 2 3 4 5 6 0 1 2 3 4; what TensorFlow 2.21 gives for them.
        assert [x.tolist() for x in ds] == [
            [[0], [1]],
            [[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1]],
            [[1, 1], [0, 0]],
            [[1, 0], [1, 1]],
            [[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 0]],
            [[1, 1, 1, 1]],
        ]

    def test_given_pad_to_bucket_boundary_then_batches_are_one_shorter_than_it(self) -> None:
        ds = (
            ps.Dataset.range(12)
            .map(few)
            .bucket_by_sequence_length(
                len,
                BOUNDS,
                SIZES,
                padded_shapes=[None],
                pad_to_bucket_boundary=True,
                padding_values=7,
            )
        )
        assert [x.shape for x in ds] == [(2, 2), (2, 2), (2, 2), (3, 4), (2, 2), (1, 4)]
        assert next(iter(ds)).tolist() == [[7, 7], [1, 7]]

    def test_given_an_element_beyond_the_last_boundary_then_it_is_an_error(self) -> None:
        ds = (
            ps.Dataset.range(5, 8)
            .map(ones)
            .bucket_by_sequence_length(len, BOUNDS, SIZES, padded_shapes=[None], pad_to_bucket_boundary=True)
        )
        with pytest.raises(
            ps.errors.DataError, match=r"test_bucket.*:\d+: element 0: .* length 5\."
        ) as caught:
            next(iter(ds))
        assert (caught.value.op, caught.value.number) == ("bucket_by_sequence_length", 0)

    def test_given_unknown_shapes_then_padding_to_the_boundary_needs_them_said(self) -> None:
        with pytest.raises(ps.errors.ArgumentError, match="needs padded_shapes"):
            ps.Dataset.from_generator(lambda: iter([np.ones(1)])).bucket_by_sequence_length(
                len, BOUNDS, SIZES, pad_to_bucket_boundary=True
            )

    def test_given_a_known_spec_then_the_varying_size_is_padded_to_the_boundary(self) -> None:
        signature = ps.TensorSpec([None], np.int64)
        ds = ps.Dataset.from_generator(
            lambda: iter([np.ones(1, int), np.ones(4, int)]), output_signature=signature
        ).bucket_by_sequence_length(len, BOUNDS, SIZES, pad_to_bucket_boundary=True)
        assert [x.shape for x in ds] == [(1, 2), (1, 4)]
        assert ds.op.spec.nest() == ps.TensorSpec([None, None], np.int64)

    @pytest.mark.parametrize(("bounds", "sizes"), [([3, 5], [2, 2]), ([5, 3], [1, 1, 1]), ([3], [1, 0])])
    def test_given_buckets_that_do_not_fit_then_declaring_fails(
        self, bounds: list[int], sizes: list[int]
    ) -> None:
        with pytest.raises(ps.errors.ArgumentError, match="bucket_"):
            ps.Dataset.range(3).bucket_by_sequence_length(size, bounds, sizes)


def test_given_padding_values_that_cannot_pad_then_the_error_names_the_op() -> None:
    with pytest.raises(ps.errors.ArgumentTypeError, match=r"^bucket_by_sequence_length at .*padding_values"):
        ps.Dataset.range(9).batch(3).bucket_by_sequence_length(len, [3], [2, 2], padding_values="x")
