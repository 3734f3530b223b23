"""`padded_batch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, drain, same
from contract.trickle import trickle
from penstock.ops.parts import gathered

ROW = np.dtype(np.float32).itemsize


def vector(n: Any) -> Any:
    return np.full(n % 5, n)


def labelled(n: Any) -> Any:
    return {"x": np.full((n % 4, 2), n, np.float32), "n": n}


def matrix(n: Any) -> Any:
    return np.full((n % 3, n % 4), n)


def text(n: Any) -> Any:
    return "t" * int(n)


def words(n: Any) -> Any:
    return np.array([b"w%d" % n] * int(n % 3 + 1), object)


def even_words(n: Any) -> Any:
    """Three rows of one shape, then three of another."""
    return np.array([b"w%d" % n] * int(n // 3 % 2 + 2), object)


def uneven(n: Any) -> Any:
    """Rows of nearly 1 MiB."""
    return np.full((1 << 20) - 1000 * int(n % 5), n % 100, np.uint8)


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
            "texts": lambda: numbers.map(text).padded_batch(4),
            "even words": lambda: numbers.map(even_words).padded_batch(6, padding_values=b"-"),
            "wider words": lambda: numbers.map(even_words).padded_batch(6, [5]),
        }

    def test_given_no_shapes_then_each_batch_is_as_long_as_its_longest(self) -> None:
        got = list(ps.Dataset.range(1, 4).map(vector).padded_batch(2))
        assert same(got, [np.array([[1, 0], [2, 2]]), np.array([[3, 3, 3]])])

    def test_given_a_shape_and_a_value_then_both_are_used(self) -> None:
        (got,) = ps.Dataset.range(1, 3).map(vector).padded_batch(2, padded_shapes=[3], padding_values=9)
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
        ds = ps.Dataset.range(2).map(lambda n: np.array([b"a"] * int(n + 1), object)).padded_batch(2)
        (got,) = ds
        assert got.tolist() == [[b"a", b""], [b"a", b"a"]]

    @pytest.mark.parametrize("rows", [1, 4, 64])
    def test_given_a_longer_element_then_both_shapes_are_named_and_the_rest_goes_on(self, rows: int) -> None:
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
        with pytest.raises(ps.errors.ArgumentTypeError, match=r"test_padded_batch\.py:\d+.*padding_values"):
            typed().padded_batch(2, padding_values=value)

    @pytest.mark.parametrize("shapes", [[2, 2], ([2], [2]), {"a": [2]}, ["x"], [-2]])
    def test_given_shapes_that_cannot_fit_then_declaring_fails(self, shapes: Any) -> None:
        with pytest.raises((ps.errors.ArgumentError, ps.errors.ArgumentTypeError), match="padded_shapes"):
            typed().padded_batch(2, padded_shapes=shapes)

    def test_given_a_shape_smaller_than_the_known_one_then_declaring_fails(self) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"\(3,\).*\(2,\)"):
            ps.Dataset.from_tensor_slices(np.ones((4, 3))).padded_batch(2, [2])

    def test_given_a_batch_beyond_the_budget_then_the_error_names_the_op(self) -> None:
        ds = ps.Dataset.range(40).map(lambda _: np.zeros(1 << 20, np.uint8)).padded_batch(20)
        with (
            ds.iterate(memory="16MiB") as it,
            pytest.raises(ps.errors.BudgetError, match=r"padded_batch at .*:\d+ needs .* at most 14 fits"),
        ):
            next(it)

    @pytest.mark.parametrize("shapes", [None, [1 << 20]])
    def test_given_a_batch_of_most_of_the_budget_then_it_fits(self, shapes: Any) -> None:
        ds = ps.Dataset.range(30).map(uneven).padded_batch(12, shapes)
        seen = 0
        with ds.iterate(memory="16MiB") as it:
            for batch in it:
                assert batch.shape == (min(12, 30 - seen), 1 << 20)
                for row in batch:
                    expected = uneven(seen)
                    assert (row[: len(expected)] == expected).all()
                    assert not row[len(expected) :].any()
                    seen += 1
                del batch, row
            assert it._run.ledger.peak <= 16 << 20
            assert it._run.ledger.accounts["padded_batch"].peak >= 12 << 20
        assert seen == 30

    def test_given_a_shuffle_that_has_the_whole_budget_then_it_makes_room(self) -> None:
        ds = ps.Dataset.range(30).map(uneven).shuffle(20).padded_batch(12)
        with ds.iterate(memory="16MiB") as it:
            assert sum(len(batch) for batch in it) == 30
            assert it._run.ledger.peak <= 16 << 20

    def test_given_a_batch_that_has_been_laid_then_its_rows_are_kept_no_more(self) -> None:
        with ps.Dataset.range(30).map(uneven).padded_batch(12).iterate(memory="64MiB") as it:
            next(it)
            assert it._run.ledger.accounts["padded_batch"].peak >= 20 << 20
            assert it._run.ledger.reserved == 0

    def test_given_few_rows_and_much_padding_then_only_the_batch_has_to_fit(self) -> None:
        ds = ps.Dataset.range(15).map(lambda n: np.full((1 << 20) - (1_000_000 * (n > 0)), n, np.uint8))
        with ds.padded_batch(15).iterate(memory=(16 << 20) + 8) as it:  # and one row, and its number
            batch = next(it)
            assert it._run.ledger.peak <= 16 << 20
        assert batch[:, 0].tolist() == list(range(15))
        assert batch.sum() == sum(n * ((1 << 20) - 1_000_000) for n in range(15))

    def test_given_short_rows_padded_to_a_long_shape_then_batches_come_one_by_one(self) -> None:
        ds = ps.Dataset.range(4000).map(lambda n: np.full(1, n)).padded_batch(4, [1 << 15])
        with ds.iterate(memory="16MiB") as it:
            assert [int(batch[3, 0]) for batch in it] == list(range(3, 4000, 4))
            assert it._run.ledger.peak <= 16 << 20

    def test_given_one_long_row_among_short_ones_then_it_alone_does_not_exceed_the_budget(
        self,
    ) -> None:
        ds = ps.Dataset.range(8).map(lambda n: {"x": np.zeros((2 << 20) if n == 0 else 1, np.uint8)})
        with ds.padded_batch(7).iterate(memory="24MiB") as it:
            assert [batch["x"].shape for batch in it] == [(7, 2 << 20), (1, 1)]


class TestPaddedBatchInALog:
    """The same batches by way of the log, where rows are moved as they come."""

    @pytest.mark.parametrize("rows", [1, 2, 3])
    @pytest.mark.parametrize("name", TestPaddedBatch.cases())
    def test_given_a_log_then_the_stream_is_the_same(
        self, name: str, rows: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = drain(TestPaddedBatch.cases()[name]())
        moved = []
        move = gathered.Gathered.move
        monkeypatch.setattr(gathered.Gathered, "move", lambda it: (moved.append(1), move(it)))
        trickle(monkeypatch, few=0, rows=rows)
        assert same(drain(TestPaddedBatch.cases()[name]()), expected)
        assert moved or rows > 1 or not expected

    @pytest.mark.parametrize("name", TestPaddedBatch.cases())
    def test_given_no_room_for_rows_and_batch_then_the_stream_is_the_same(
        self, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = drain(TestPaddedBatch.cases()[name]())
        monkeypatch.setattr(gathered.Gathered, "fits", lambda *_: False)
        trickle(monkeypatch, few=1, rows=2)
        assert same(drain(TestPaddedBatch.cases()[name]()), expected)

    @pytest.mark.parametrize(
        ("lengths", "shapes", "match"),
        [
            ([(1,), (2,), (2,), (1,), (4,), (2,), (1,)], [2], r"element 4.*\(4,\).*\(2,\)"),
            ([(1,), (2,), (2,), (1, 1), (4,), (2,), (1,)], None, r"element 3.*rank"),
            ([(1,), (2,), (2,), (1, 1), (2, 1), (2, 1), (1,)], [2], r"element 3.*rank 1.*rank 2"),
        ],
    )
    @pytest.mark.parametrize("few", [0, 1 << 20])
    def test_given_rows_that_make_no_batch_then_they_are_used_up_and_the_rest_goes_on(
        self, lengths: Any, shapes: Any, match: str, few: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trickle(monkeypatch, few, rows=1)
        ds = ps.Dataset.range(7).map(lambda i: np.ones(lengths[int(i)])).padded_batch(3, shapes)
        with ds.iterate() as it:
            assert next(it).shape == (3, 2)
            with pytest.raises(ps.errors.DataError, match=match):
                next(it)
            assert len(next(it)) == 1
            assert next(it, None) is None

    def test_given_an_error_above_then_what_was_gathered_is_kept(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trickle(monkeypatch, few=0, rows=1)

        def fails(n: Any) -> Any:
            if n == 2:
                raise RuntimeError("two")
            return np.full(n, n)

        it = iter(ps.Dataset.range(6).map(fails).padded_batch(3))
        with pytest.raises(ps.errors.FunctionError):
            next(it)
        assert next(it).tolist() == [[0, 0, 0], [1, 0, 0], [3, 3, 3]]
        assert len(next(it)) == 2


@pytest.mark.parametrize("rows", [1, 2, 64])
def test_given_scalars_beside_others_then_those_of_one_kind_make_a_batch(rows: int) -> None:
    ds = ps.Dataset.range(6).map(lambda x: 0.5 if x == 0 else x).with_options(ps.Options(block_rows=rows))
    assert [batch.tolist() for batch in ds.skip(2).padded_batch(2)] == [[2, 3], [4, 5]]
    with pytest.raises(ps.errors.DataError, match="expected elements of one dtype, got float64 and int64"):
        list(ds.padded_batch(2))


def test_given_datasets_then_they_are_put_side_by_side() -> None:
    windows = ps.Dataset.range(4).window(2).padded_batch(2)
    with windows.iterate() as it:
        (first, second) = next(it)
        assert [[int(x) for x in window] for window in (first, second)] == [[0, 1], [2, 3]]


def test_given_ragged_batches_then_the_error_says_that_they_are() -> None:
    ragged = ps.Dataset.range(4).map(np.arange).ragged_batch(2)
    with pytest.raises(ps.errors.DataError, match="expected arrays, got a Ragged"):
        list(ragged.padded_batch(2))
