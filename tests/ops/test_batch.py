"""`batch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import OpContract, same


class TestBatch(OpContract):
    @staticmethod
    def cases() -> Mapping[str, Callable[[], ps.Dataset]]:
        pairs = (np.arange(60).reshape(20, 3), np.arange(20.0))
        words = [b"a", b"", b"ccc", b"dd", b"e"] * 4
        return {
            "whole": lambda: ps.Dataset.range(12).batch(4),
            "remainder": lambda: ps.Dataset.range(11).batch(4),
            "dropped": lambda: ps.Dataset.range(11).batch(4, drop_remainder=True),
            "tuples": lambda: ps.Dataset.from_tensor_slices(pairs).batch(6),
            "bytes": lambda: ps.Dataset.from_tensor_slices({"w": words}).batch(3),
            "twice": lambda: ps.Dataset.range(25).batch(2).batch(3),
            "empty": lambda: ps.Dataset.range(0).batch(3),
        }

    def test_given_rows_then_they_are_stacked_in_order(self) -> None:
        got = list(ps.Dataset.range(5).batch(2))
        assert same(got, [np.array([0, 1]), np.array([2, 3]), np.array([4])])

    def test_given_unequal_shapes_then_the_error_names_both_and_the_rest_goes_on(self) -> None:
        lengths = [2, 2, 3, 2, 1, 1]
        ds = ps.Dataset.range(6).map(lambda i: np.zeros(lengths[int(i)])).batch(2)
        it = iter(ds)
        assert next(it).shape == (2, 2)
        with pytest.raises(ps.errors.DataError, match=r"\(3,\) in element 2 and \(2,\) in element 3"):
            next(it)
        assert next(it).shape == (2, 1)
        with pytest.raises(StopIteration):
            next(it)

    @pytest.mark.parametrize("size", [0, -1])
    def test_given_a_wrong_size_then_declaring_fails_and_names_the_line(self, size: int) -> None:
        with pytest.raises(ps.errors.ArgumentError, match=r"batch_size.*test_batch\.py:\d+"):
            ps.Dataset.range(3).batch(size)

    def test_given_tf_datas_tuning_then_it_is_checked_and_changes_nothing(self) -> None:
        ds = ps.Dataset.range(5)
        got = list(ds.batch(2, num_parallel_calls=ps.AUTOTUNE, deterministic=False))
        assert same(got, list(ds.batch(2)))
        with pytest.raises(ps.errors.ArgumentError, match=r"batch\(num_parallel_calls=\) at .*\.py:\d+"):
            ds.batch(2, num_parallel_calls=0)
        with pytest.raises(ps.errors.ArgumentTypeError, match=r"batch\(deterministic=\) at .*\.py:\d+"):
            ds.batch(2, deterministic=1)  # type: ignore[arg-type]

    def test_given_a_batch_that_cannot_fit_then_it_is_refused_before_it_is_made(self) -> None:
        made = []

        def megabyte(i: object) -> np.ndarray:
            made.append(i)
            return np.zeros(1 << 20, np.uint8)

        ds = ps.Dataset.range(100).map(megabyte).batch(64)
        with (
            ds.iterate(memory="16MiB") as it,
            pytest.raises(
                ps.errors.BudgetError,
                match=r"batch at .*test_batch\.py:\d+ needs 64 MiB.*batch_size of at most 14 fits",
            ),
        ):
            next(it)
        assert len(made) <= 2, "one block of rows, and nothing more"

    def test_given_large_rows_then_a_batch_and_one_row_are_held(self) -> None:
        ds = ps.Dataset.range(32).map(lambda i: np.full(1 << 20, i, np.uint8)).batch(8)
        with ds.iterate(memory="12MiB") as it:
            for number, batch in enumerate(it):
                assert (batch[:, -1] == np.arange(8 * number, 8 * number + 8)).all()
                del batch
            assert number == 3
            assert it._run.ledger.peak <= 10 << 20

    def test_given_a_batch_in_parts_of_unequal_shapes_then_the_error_names_the_elements(self) -> None:
        lengths = [1, 1, 2, 3, 3, 3]
        # Rows so large that every one is a block of its own.
        ds = ps.Dataset.range(6).map(lambda i: np.zeros((lengths[int(i)], 150_000))).batch(3)
        with ds.iterate(memory="64MiB") as it:
            with pytest.raises(ps.errors.DataError, match=r"0\) in element 0 and .* in element 2"):
                next(it)
            assert next(it).shape == (3, 3, 150_000)

    def test_given_parts_of_several_kinds_then_they_are_joined(self) -> None:
        ds = ps.Dataset.range(12).map(lambda i: np.full(1 + (int(i) // 6) % 2, i)).batch(3)
        for rows in (1, 2, 4, 64):
            got = list(ds.with_options(ps.Options(block_rows=rows)))
            assert [x.shape for x in got] == [(3, 1), (3, 1), (3, 2), (3, 2)]


def whole(n: int = 50) -> np.ndarray:
    return np.arange(n * 4).reshape(n, 4)


READ_ONLY: Mapping[str, Callable[[], ps.Dataset]] = {
    "slices": lambda: ps.Dataset.from_tensor_slices(whole()),
    "pairs": lambda: ps.Dataset.from_tensor_slices((whole(), np.arange(50.0))),
    "joined": lambda: ps.Dataset.range(5).flat_map(lambda _: ps.Dataset.from_tensor_slices(whole(10))),
    "cached": lambda: ps.Dataset.from_tensor_slices(whole()).map(lambda x: x + 1).cache(),
}
YOURS: Mapping[str, Callable[[], ps.Dataset]] = {
    "range": lambda: ps.Dataset.range(50),
    "mapped": lambda: ps.Dataset.from_tensor_slices(whole()).map(lambda x: x + 1),
    "kept_in_slots": lambda: (
        ps.Dataset.from_tensor_slices(whole()).shuffle(7, seed=1).with_options(ps.Options(optimize=False))
    ),
    "shuffled": lambda: ps.Dataset.from_tensor_slices(whole()).shuffle(7, seed=1),
}
WAYS: Mapping[str, Callable[[ps.Dataset], ps.Dataset]] = {
    "batch": lambda ds: ds.batch(8),
    "padded_batch": lambda ds: ds.padded_batch(8),
    "rebatch": lambda ds: ds.batch(8).rebatch(12),
    "ragged_batch": lambda ds: ds.ragged_batch(8),
}


def flags(ds: ps.Dataset, rows: int | None) -> set[bool]:
    found = set()
    for batch in ds.with_options(ps.Options(block_rows=rows)):
        leaves = batch if isinstance(batch, tuple) else (batch,)
        arrays = [leaf.values if isinstance(leaf, ps.Ragged) else leaf for leaf in leaves]
        found |= {array.flags.writeable for array in arrays}
    return found


@pytest.mark.parametrize("rows", [None, 1, 5])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("source", READ_ONLY)
def test_given_read_only_elements_then_every_batch_of_them_is_read_only(
    source: str, way: str, rows: int | None
) -> None:
    ds = WAYS[way](READ_ONLY[source]())
    if source == "cached":
        list(ds)  # the pass that fills the cache
    assert flags(ds, rows) == {False}


@pytest.mark.parametrize("rows", [None, 1, 5])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("source", YOURS)
def test_given_other_elements_then_every_batch_is_the_users_to_change(
    source: str, way: str, rows: int | None
) -> None:
    assert flags(WAYS[way](YOURS[source]()), rows) == {True}


def test_given_unequal_shapes_then_the_error_has_the_users_line() -> None:
    ds = ps.Dataset.range(2).map(lambda i: np.zeros(int(i))).batch(2)
    with pytest.raises(ps.errors.DataError, match=r"^batch at .*test_batch\.py:\d+: expected") as caught:
        list(ds)
    assert caught.value.op == "batch"


def test_given_elements_that_do_not_fit_then_the_error_says_that_not_one_does() -> None:
    ds = ps.Dataset.range(9).map(lambda i: np.zeros(1000) + i).batch(4)
    with pytest.raises(ps.errors.BudgetError, match=r"batch at .*Not even one of 7\.81 KiB fits"):
        list(ds.iterate(memory=9_000))
    with pytest.raises(ps.errors.BudgetError, match=r"map at .* needs 7\.81 KiB.*one element"):
        list(ds.iterate(memory=7_000))


def at_once(x: Any) -> Any:
    return [1.5, "a", None, np.zeros(2, np.float32), b"b", 1, 2, 3, "c", "d", "e", np.int8(1)][x]


@pytest.mark.parametrize("rows", [1, 2, 3, 64])
def test_given_elements_of_several_kinds_then_a_batch_of_one_kind_is_the_same_in_any_block(rows: int) -> None:
    ds = ps.Dataset.range(12).map(at_once).with_options(ps.Options(block_rows=rows))
    numbers, text = [ds.skip(first).take(3).batch(3).get_single_element() for first in (5, 8)]
    assert numbers.dtype == np.int64 and numbers.tolist() == [1, 2, 3]
    assert text.tolist() == ["c", "d", "e"]
    with pytest.raises(ps.errors.DataError, match=r"float64 of .* element 0 and str of .* element 1"):
        list(ds.batch(2))


def test_given_missing_values_then_a_batch_with_some_is_an_array_of_objects() -> None:
    ds = ps.Dataset.range(6).map(lambda x: None if x == 2 else x).batch(2)
    got = [(batch.dtype.name, batch.tolist()) for batch in ds]
    assert got == [("int64", [0, 1]), ("object", [None, 3]), ("int64", [4, 5])]


WORDS = ["a bb", "ccc", "", "dd eee f"]


@pytest.mark.parametrize("rows", [1, 2, 3, 64])
def test_given_arrays_of_strings_of_several_widths_then_every_batch_takes_them(rows: int) -> None:
    options = ps.Options(block_rows=rows)
    texts = ps.Dataset.from_tensor_slices(WORDS).with_options(options)
    split = texts.map(lambda text: np.array(text.split(), dtype=str))
    assert [words.tolist() for words in split] == [text.split() for text in WORDS]
    assert {words.dtype for words in split} == {np.dtype(object)}
    (padded,) = split.padded_batch(4)
    assert padded.tolist() == [["a", "bb", ""], ["ccc", "", ""], ["", "", ""], ["dd", "eee", "f"]]
    (ragged,) = split.ragged_batch(4)
    assert ragged.to_list() == [text.split() for text in WORDS]
    (firsts,) = texts.map(lambda text: np.array([text[:1], text])).batch(4)
    assert firsts.tolist() == [[text[:1], text] for text in WORDS]
