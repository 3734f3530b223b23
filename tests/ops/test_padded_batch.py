"""`padded_batch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, same

ROW = np.dtype(np.float32).itemsize


def vector(n: Any) -> Any:
    return np.full(n % 5, n)


def labelled(n: Any) -> Any:
    return {"x": np.full((n % 4, 2), n, np.float32), "n": n}


def matrix(n: Any) -> Any:
    return np.full((n % 3, n % 4), n)


def words(n: Any) -> Any:
    return np.array([b"w%d" % n] * int(n % 3 + 1), object)


def typed() -> ps.Dataset:
    """Vectors whose spec says that their length varies."""
    return ps.Dataset.from_generator(
        lambda: (np.full(n, n) for n in (2, 1, 3)), output_signature=ps.TensorSpec([None], np.int64)
    )


class TestPaddedBatch(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        numbers = ps.Dataset.range(23)
        return {
            "vectors": lambda: numbers.map(vector).padded_batch(4),
            "fixed": lambda: numbers.map(vector).padded_batch(4, [6], -1),
            "dropped": lambda: numbers.map(vector).padded_batch(4, drop_remainder=True),
            "dict": lambda: numbers.map(labelled).padded_batch(3, {"x": [None, 3], "n": []}),
            "matrices": lambda: numbers.map(matrix).padded_batch(5),
            "words": lambda: numbers.map(words).padded_batch(4, padding_values=b"-"),
            "dense": lambda: numbers.padded_batch(4),
            "wider": lambda: ps.Dataset.from_tensor_slices(np.ones((9, 2))).padded_batch(2, [3]),
            "empty": lambda: ps.Dataset.range(0).padded_batch(3),
        }

    def test_given_no_shapes_then_each_batch_is_as_long_as_its_longest(self) -> None:
        got = list(ps.Dataset.range(1, 4).map(vector).padded_batch(2))
        assert same(got, [np.array([[1, 0], [2, 2]]), np.array([[3, 3, 3]])])

    def test_given_a_shape_and_a_value_then_both_are_used(self) -> None:
        (got,) = (
            ps.Dataset.range(1, 3).map(vector).padded_batch(2, padded_shapes=[3], padding_values=9)
        )
        assert same(got, np.array([[1, 9, 9], [2, 2, 9]]))

    def test_given_minus_one_then_it_means_the_longest(self) -> None:
        (got,) = ps.Dataset.range(1, 3).map(vector).padded_batch(2, padded_shapes=[-1])
        assert got.shape == (2, 2)

    def test_given_two_axes_then_both_are_padded(self) -> None:
        shapes = [(1, 2), (2, 1)]
        ds = ps.Dataset.range(2).map(lambda i: np.ones(shapes[int(i)], np.int8)).padded_batch(2)
        expected = np.array([[[1, 1], [0, 0]], [[1, 0], [1, 0]]], np.int8)
        assert same(list(ds), [expected])

    def test_given_values_for_some_leaves_then_the_others_get_their_default(self) -> None:
        ds = ps.Dataset.range(1, 3).map(lambda n: (np.full(n, n), np.full(n, n)))
        ((left, right),) = ds.padded_batch(2, padding_values=(None, 7))
        assert same(left, np.array([[1, 0], [2, 2]]))
        assert same(right, np.array([[1, 7], [2, 2]]))

    def test_given_strings_then_they_are_padded_with_empty_ones(self) -> None:
        ds = (
            ps.Dataset.range(2).map(lambda n: np.array([b"a"] * int(n + 1), object)).padded_batch(2)
        )
        (got,) = ds
        assert got.tolist() == [[b"a", b""], [b"a", b"a"]]

    @pytest.mark.parametrize("rows", [1, 4, 64])
    def test_given_a_longer_element_then_both_shapes_are_named_and_the_rest_goes_on(
        self, rows: int
    ) -> None:
        lengths = [1, 2, 2, 4, 1, 1]
        ds = ps.Dataset.range(6).map(lambda i: np.ones(lengths[int(i)])).padded_batch(2, [2])
        it = iter(ds.with_options(ps.Options(block_rows=rows)))
        assert next(it).shape == (2, 2)
        with pytest.raises(ps.errors.DataError, match=r"element 3.*\(4,\).*\(2,\)") as caught:
            next(it)
        assert caught.value.number == 3
        assert next(it).tolist() == [[1, 0], [1, 0]]
        assert next(it, None) is None

    def test_given_an_error_above_then_what_was_gathered_is_kept(self) -> None:
        def fails(n: Any) -> Any:
            if n == 1:
                raise RuntimeError("one")
            return np.full(n, n)

        it = iter(ps.Dataset.range(4).map(fails).padded_batch(2))
        with pytest.raises(ps.errors.FunctionError):
            next(it)
        assert next(it).tolist() == [[0, 0], [2, 2]]
        assert next(it).tolist() == [[3, 3, 3]]

    def test_given_a_spec_then_varying_sizes_stay_unknown_and_said_ones_are_known(self) -> None:
        vectors = typed()
        assert vectors.padded_batch(2).op.spec.nest() == ps.TensorSpec([None, None], np.int64)
        known = vectors.padded_batch(2, [5], drop_remainder=True).op.spec.nest()
        assert known == ps.TensorSpec([2, 5], np.int64)

    @pytest.mark.parametrize("value", [0.5, np.int32(1), b"x", [1, 2], True])
    def test_given_a_padding_value_of_another_type_then_declaring_fails(self, value: Any) -> None:
        with pytest.raises(
            ps.errors.ArgumentTypeError, match=r"test_padded_batch\.py:\d+.*padding_values"
        ):
            typed().padded_batch(2, padding_values=value)

    @pytest.mark.parametrize("shapes", [[2, 2], ([2], [2]), {"a": [2]}, ["x"], [-2]])
    def test_given_shapes_that_cannot_fit_then_declaring_fails(self, shapes: Any) -> None:
        with pytest.raises(
            (ps.errors.ArgumentError, ps.errors.ArgumentTypeError), match="padded_shapes"
        ):
            typed().padded_batch(2, padded_shapes=shapes)

    def test_given_a_shape_smaller_than_the_known_one_then_declaring_fails(self) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"\(3,\).*\(2,\)"):
            ps.Dataset.from_tensor_slices(np.ones((4, 3))).padded_batch(2, [2])

    def test_given_a_batch_beyond_the_budget_then_the_error_names_the_op(self) -> None:
        ds = ps.Dataset.range(40).map(lambda _: np.zeros(1 << 20, np.uint8)).padded_batch(20)
        with (
            ds.iterate(memory="16MiB") as it,
            pytest.raises(ps.errors.BudgetError, match="padded_batch needs"),
        ):
            next(it)
