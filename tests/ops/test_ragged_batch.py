"""`ragged_batch`, and the `Ragged` that it gives."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, drain, same
from contract.trickle import trickle
from penstock.blocks.spec import Spec
from penstock.blocks.structure import structure_of
from penstock.ops.parts import gathered


def vector(n: Any) -> Any:
    return np.full(n % 5, n)


def pair(n: Any) -> Any:
    return {"x": np.full((n % 3, n % 2), n, np.float32), "n": n}


def text(n: Any) -> Any:
    return "t" * int(n)


def words(n: Any) -> Any:
    return np.array(["w"] * int(n % 3), object)


def pairs() -> Any:
    return (np.full((n % 3, 2), n) for n in range(9))


def deep(n: Any) -> Any:
    return np.full((n % 3, (n + 1) % 3, n % 2 + 1), n)


def odd_dtype(n: Any) -> Any:
    return np.full(n % 3, n, np.int8 if n == 2 else np.int64)


def uneven(n: Any) -> Any:
    """Rows of nearly 1 MiB."""
    return np.full((1 << 20) - 1000 * int(n % 5), n % 100, np.uint8)


def lists(ds: ps.Dataset) -> list[Any]:
    return [batch.to_list() for batch in ds]


def of(shape: list[int | None], *arrays: Any) -> ps.Dataset:
    signature = ps.TensorSpec(shape, np.int64)
    return ps.Dataset.from_generator(lambda: iter(arrays), output_signature=signature)


class TestRaggedBatch(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        return {
            "vectors": lambda: ps.Dataset.range(23).map(vector).ragged_batch(4),
            "dropped": lambda: ps.Dataset.range(23).map(vector).ragged_batch(4, True),
            "dict": lambda: ps.Dataset.range(11).map(pair).ragged_batch(3),
            "dense": lambda: ps.Dataset.from_tensor_slices(np.ones((7, 2))).ragged_batch(3),
            "empty": lambda: ps.Dataset.range(0).ragged_batch(3),
            "texts": lambda: ps.Dataset.range(11).map(text).ragged_batch(4),
            "words": lambda: ps.Dataset.range(11).map(words).ragged_batch(4),
            "deep": lambda: ps.Dataset.range(11).map(deep).ragged_batch(4, False, np.int32),
            "fixed last axis": lambda: (
                ps.Dataset.from_generator(pairs, output_signature=ps.TensorSpec([None, 2], np.int64))
            ).ragged_batch(4),
            "odd dtypes": lambda: ps.Dataset.range(7).map(odd_dtype).ragged_batch(4),
        }

    def test_given_vectors_then_values_and_splits_hold_the_rows(self) -> None:
        (got,) = ps.Dataset.range(3).map(vector).ragged_batch(3, row_splits_dtype=np.int32)
        assert same(got.values, np.array([1, 2, 2]))
        assert same(got.row_splits, np.array([0, 0, 1, 3], np.int32))

    def test_given_unknown_shapes_then_every_axis_is_ragged(self) -> None:
        got = lists(ps.Dataset.range(3).map(lambda n: np.zeros((n, 2))).ragged_batch(2))
        assert got == [[[], [[0, 0]]], [[[0, 0], [0, 0]]]]

    def test_given_a_fixed_last_axis_then_it_stays_an_axis_of_the_values(self) -> None:
        (got,) = of([None, 2], np.ones((1, 2), np.int64), np.ones((3, 2), np.int64)).ragged_batch(2)
        assert got.shape == (2, None, 2)
        assert got.values.shape == (4, 2)

    def test_given_a_varying_axis_behind_a_fixed_one_then_rows_are_nested(self) -> None:
        (got,) = of([2, None], np.ones((2, 1), np.int64), np.ones((2, 0), np.int64)).ragged_batch(2)
        assert got.shape == (2, None, None)
        assert got.to_list() == [[[1], [1]], [[], []]]

    def test_given_three_axes_then_rows_are_nested_three_deep(self) -> None:
        shapes = [(2, 1, 2), (1, 3, 1)]
        ds = ps.Dataset.range(2).map(lambda i: np.ones(shapes[int(i)], int)).ragged_batch(2)
        assert lists(ds) == [[[[[1, 1]], [[1, 1]]], [[[1], [1], [1]]]]]

    def test_given_a_fixed_shape_then_it_is_stacked(self) -> None:
        (got,) = ps.Dataset.from_tensor_slices(np.ones((2, 3))).ragged_batch(2)
        assert same(got, np.ones((2, 3)))

    def test_given_words_then_they_are_the_values(self) -> None:
        ds = ps.Dataset.range(3).map(lambda n: np.array(["w"] * int(n), object)).ragged_batch(3)
        assert lists(ds) == [[[], ["w"], ["w", "w"]]]

    def test_given_a_known_spec_then_the_batch_has_one(self) -> None:
        ds = of([None, 2]).ragged_batch(2)
        assert ds.op.spec.nest() == ps.TensorSpec([None, None, 2], np.int64)

    @pytest.mark.parametrize("dtype", [np.float32, "nothing", np.int8])
    def test_given_wrong_splits_then_declaring_fails(self, dtype: Any) -> None:
        with pytest.raises(ps.errors.ArgumentTypeError, match="row_splits_dtype"):
            ps.Dataset.range(3).ragged_batch(2, row_splits_dtype=dtype)

    def test_given_many_bytes_then_the_ledger_counts_them(self) -> None:
        ds = ps.Dataset.range(3).map(lambda _: np.zeros(1 << 20, np.uint8)).ragged_batch(3)
        with ds.iterate(memory="16MiB") as it:
            next(it)
            assert it._run.ledger.accounts["ragged_batch"].peak >= 3 << 20

    def test_given_a_batch_of_most_of_the_budget_then_it_fits(self) -> None:
        seen = 0
        with ps.Dataset.range(30).map(uneven).ragged_batch(12).iterate(memory="16MiB") as it:
            for batch in it:
                for row in batch:
                    assert same(row, uneven(seen))
                    seen += 1
                del batch, row
            assert it._run.ledger.peak <= 16 << 20
            assert it._run.ledger.accounts["ragged_batch"].peak >= 11 << 20
        assert seen == 30
        it._run.ledger.settle()
        assert it._run.ledger.held == 0

    def test_given_a_shuffle_that_has_the_whole_budget_then_it_makes_room(self) -> None:
        ds = ps.Dataset.range(30).map(uneven).shuffle(20).ragged_batch(12)
        with ds.iterate(memory="16MiB") as it:
            assert sum(len(batch) for batch in it) == 30
            assert it._run.ledger.peak <= 16 << 20

    def test_given_a_batch_that_has_been_laid_then_its_rows_are_kept_no_more(self) -> None:
        with ps.Dataset.range(30).map(uneven).ragged_batch(12).iterate(memory="64MiB") as it:
            next(it)
            assert it._run.ledger.accounts["ragged_batch"].peak >= 20 << 20
            assert it._run.ledger.reserved == 0

    def test_given_a_batch_beyond_the_budget_then_the_error_names_the_op(self) -> None:
        with (
            ps.Dataset.range(40).map(uneven).ragged_batch(20).iterate(memory="16MiB") as it,
            pytest.raises(ps.errors.BudgetError, match=r"ragged_batch at .*:\d+ needs .* at most \d+ fits"),
        ):
            next(it)

    @pytest.mark.parametrize(("few", "rows"), [(0, 1), (0, 2), (0, 3), (1, 2)])
    def test_given_a_log_then_the_stream_is_the_same(
        self, few: int, rows: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, case in self.cases().items():
            expected = drain(case())
            with monkeypatch.context() as patch:
                trickle(patch, few, rows)
                patch.setattr(gathered.Gathered, "fits", lambda *_: False)
                got = drain(case())
            assert same(got, expected), name

    @pytest.mark.parametrize("few", [0, 1])
    @pytest.mark.parametrize(
        ("shape", "match"),
        [
            ([None, 2], r"end in \[2\].*\(4, 3\).*element 4"),
            ([2], r"\(2,\) in element 3 and \(3,\) in element 4"),
        ],
    )
    def test_given_shapes_against_the_spec_then_the_error_names_them_and_the_rest_goes_on(
        self, shape: Any, match: str, few: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trickle(monkeypatch, few, rows=1)
        sizes = [2, 2, 2, 2, 3, 2, 2]
        made = {1: lambda n: np.ones(sizes[int(n)]), 2: lambda n: np.ones((n, sizes[int(n)]))}
        ds = ps.Dataset.range(7).map(made[len(shape)])
        ds.op.__dict__["spec"] = Spec(structure_of(0), [ps.TensorSpec(shape, np.float64)])
        with ds.ragged_batch(3).with_options(ps.Options(optimize=False)).iterate() as it:
            assert len(next(it)) == 3
            with pytest.raises(ps.errors.DataError, match=match) as caught:
                next(it)
            assert caught.value.number == 4
            assert len(next(it)) == 1

    @pytest.mark.parametrize("few", [0, 1 << 20])
    def test_given_an_error_above_then_what_was_gathered_is_kept(
        self, few: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fails(n: Any) -> Any:
            if n == 2:
                raise RuntimeError("two")
            return np.full(n, n)

        trickle(monkeypatch, few, rows=1)
        it = iter(ps.Dataset.range(6).map(fails).ragged_batch(3))
        with pytest.raises(ps.errors.FunctionError):
            next(it)
        assert next(it).to_list() == [[], [1], [3, 3, 3]]
        assert next(it).to_list() == [[4] * 4, [5] * 5]


class TestRagged:
    def ragged(self) -> ps.Ragged:
        return ps.Ragged(np.array([1, 2, 3, 4]), np.array([0, 2, 2, 4]))

    def test_given_a_number_then_the_row_comes(self) -> None:
        rows = self.ragged()
        assert rows[0].tolist() == [1, 2]
        assert rows[-1].tolist() == [3, 4]
        with pytest.raises(IndexError):
            rows[3]

    def test_given_a_slice_then_the_rows_of_it_come(self) -> None:
        assert self.ragged()[1:].to_list() == [[], [3, 4]]
        assert self.ragged()[2:1].to_list() == []

    def test_when_iterated_then_rows_come_in_order(self) -> None:
        assert [row.tolist() for row in self.ragged()] == [[1, 2], [], [3, 4]]

    def test_given_equal_rows_then_equal_and_otherwise_not(self) -> None:
        assert self.ragged() == self.ragged()
        assert self.ragged() != ps.Ragged(np.array([1, 2, 3, 4]), np.array([0, 1, 2, 4]))
        assert self.ragged() != ps.Ragged(np.array([1.0, 2, 3, 4]), np.array([0, 2, 2, 4]))
        nested = ps.Ragged(self.ragged(), np.array([0, 1, 3]))
        assert nested == ps.Ragged(self.ragged(), np.array([0, 1, 3]))
        assert nested != self.ragged()
        assert nested.to_list() == [[[1, 2]], [[], [3, 4]]]

    def test_given_a_ragged_then_it_is_no_array(self) -> None:
        with pytest.raises(TypeError, match="rows of unequal length"):
            np.asarray(self.ragged())

    def test_given_a_map_after_it_then_the_function_gets_the_ragged(self) -> None:
        ds = ps.Dataset.range(4).map(vector).ragged_batch(2).map(lambda rows: len(rows.values))
        assert [int(x) for x in ds] == [1, 5]

    def test_given_a_pickled_one_then_it_is_equal(self) -> None:
        assert pickle.loads(pickle.dumps(self.ragged())) == self.ragged()


@pytest.mark.parametrize("splits", [[0, 5], [1, 3], [0, 2, 1, 3], [0.0, 3.0], [], [[0, 3]], [-1, 3]])
def test_given_splits_that_are_none_then_a_ragged_is_refused(splits: Any) -> None:
    with pytest.raises(
        (ps.errors.ArgumentError, ps.errors.ArgumentTypeError), match=r"Ragged\(row_splits=\)"
    ):
        ps.Ragged(np.arange(3), splits)


def test_given_lists_then_a_ragged_takes_them_as_arrays() -> None:
    assert ps.Ragged([1, 2, 3], [0, 2, 3]).to_list() == [[1, 2], [3]]  # type: ignore[arg-type]
