"""Where Penstock differs from tf.data on purpose: what happens there, and what happens here."""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np
import pytest

import penstock as ps
from interop.cases import failing
from interop.words import FAILED, Words, plain, trace


def numbers(w: Words, ds: Any, limit: int = 40) -> list[Any]:
    return [item if item == FAILED else item[2] for item in trace(w, ds, limit)]


def test_given_an_error_then_batch_loses_the_failed_element_and_no_other(ours: Words, theirs: Words) -> None:
    assert numbers(theirs, failing(theirs, 3).batch(2)) == [[0, 1], FAILED, [4, 5], [6, 7]]
    got = numbers(ours, failing(ours, 3).batch(2))
    assert got.count(FAILED) == 1
    assert sorted(x for part in got if part != FAILED for x in part) == [0, 1, 2, 4, 5, 6, 7]


def test_given_an_error_then_shard_stays_in_step(ours: Words, theirs: Words) -> None:
    assert numbers(theirs, failing(theirs, 1).shard(2, 0)) != numbers(ours, failing(ours, 1).shard(2, 0))
    kept = [x for x in numbers(ours, failing(ours, 1).shard(2, 0)) if x != FAILED]
    assert kept == [0, 2, 4, 6]


def test_given_an_error_then_skip_skips_no_more_than_it_was_told(ours: Words, theirs: Words) -> None:
    assert numbers(theirs, failing(theirs, 1).skip(3)) == [FAILED, 5, 6, 7]  # starts over
    assert numbers(ours, failing(ours, 1).skip(3)) == [FAILED, 4, 5, 6, 7]


def test_given_an_error_then_shuffle_still_delivers_every_good_element(ours: Words, theirs: Words) -> None:
    got = numbers(ours, failing(ours, 2).shuffle(4, seed=1))
    assert sorted(x for x in got if x != FAILED) == [0, 1, 3, 4, 5, 6, 7]
    assert got.count(FAILED) == 1


def test_given_an_error_then_cache_raises_it_in_every_epoch(ours: Words, theirs: Words) -> None:
    ds = failing(theirs, 2, size=4).cache()
    first, second = numbers(theirs, ds), numbers(theirs, ds)
    assert (first, second) == ([0, 1, FAILED, 3], [0, 1, 3])  # silently one element less
    ds = failing(ours, 2, size=4).cache()
    assert [numbers(ours, ds) for _ in range(2)] == [[0, 1, FAILED, 3]] * 2


def test_given_a_partial_pass_then_cache_keeps_it(ours: Words) -> None:
    calls = itertools.count()
    ds = ours.Dataset.range(6).map(lambda x: x * 1000 + next(calls)).cache()
    with ds.iterate() as it:
        first = [int(next(it)) for _ in range(3)]
    second, third = numbers(ours, ds), numbers(ours, ds)
    assert second[:3] == first
    assert third == second


def test_given_a_wrong_length_then_both_fail_and_ours_says_so_once(ours: Words, theirs: Words) -> None:
    for asserted in (2, 7):
        there = theirs.Dataset.range(4).filter(lambda x: x >= 0)
        got = numbers(theirs, there.apply(theirs.experimental.assert_cardinality(asserted)))
        good = [x for x in got if x != FAILED]
        assert got.count(FAILED) > 3  # again and again
        here = ours.Dataset.range(4).filter(lambda x: x >= 0)
        here = here.apply(ps.assert_cardinality(asserted))
        seen = []
        with pytest.raises(ps.errors.CardinalityError, match=str(asserted)):
            seen.extend(int(x) for x in here)
        assert seen == good


def test_given_a_batch_size_of_zero_then_rebatch_is_refused(ours: Words, theirs: Words) -> None:
    assert numbers(theirs, theirs.Dataset.range(3).batch(2).rebatch(0), 5) == [[]] * 5
    with pytest.raises(ps.errors.ArgumentError):
        ours.Dataset.range(3).batch(2).rebatch(0)


def test_given_arrays_then_they_are_not_copied(ours: Words) -> None:
    array = np.zeros((1000, 100))
    with ours.Dataset.from_tensor_slices(array).iterate() as it:
        assert np.shares_memory(next(it), array)


def test_given_any_hashable_leaf_then_unique_takes_it(ours: Words, theirs: Words) -> None:
    items = np.array([0.5, 1.5, 0.5])
    with pytest.raises(Exception):  # noqa: B017 - which class it is, is TensorFlow's own affair
        trace(theirs, theirs.Dataset.from_tensor_slices(items).unique())
    assert numbers(ours, ours.Dataset.from_tensor_slices(items).unique()) == [0.5, 1.5]


def test_given_a_generator_without_a_signature_then_it_is_found_out(ours: Words) -> None:
    ds = ours.Dataset.from_generator(lambda: iter([(1, b"a"), (2, b"b")]))
    assert [(int(x), y) for x, y in ds] == [(1, b"a"), (2, b"b")]


def test_given_sizes_in_bytes_then_shuffle_and_prefetch_take_them(ours: Words) -> None:
    ds = ours.Dataset.range(20).shuffle("1KiB", seed=1).batch(4).prefetch("1KiB")
    assert sorted(x for part in numbers(ours, ds) for x in part) == list(range(20))


def test_given_no_buffer_size_then_the_whole_source_is_shuffled(ours: Words) -> None:
    assert sorted(numbers(ours, ours.Dataset.range(20).shuffle(seed=1))) == list(range(20))


def test_given_two_iterations_of_one_cache_then_they_share_it(ours: Words) -> None:
    ds = ours.Dataset.range(6).cache()
    with ds.iterate() as first, ds.iterate() as second:
        pairs = [(int(a), int(b)) for a, b in zip(first, second, strict=True)]
    assert pairs == [(i, i) for i in range(6)]


def test_given_an_interleave_then_its_default_does_not_depend_on_the_machine(
    ours: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for cores in (1, 64):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        ds = ours.Dataset.range(30).interleave(lambda x: ps.Dataset.from_tensors(x).repeat(2))
        seen.append(numbers(ours, ds, 60))
    assert seen[0] == seen[1]


def test_given_python_numbers_then_numpys_defaults_hold(ours: Words, theirs: Words) -> None:
    for w, integer, floating in ((ours, "int64", "float64"), (theirs, "int32", "float32")):
        got = next(iter(w.Dataset.from_tensor_slices(([1], [0.5]))))
        assert [part[0] for part in plain(w, got)[1]] == [integer, floating]


def test_given_text_then_it_stays_text(ours: Words, theirs: Words) -> None:
    assert next(iter(theirs.Dataset.from_tensors("é"))).numpy() == "é".encode()
    assert next(iter(ours.Dataset.from_tensors("é"))) == "é"


def test_given_no_element_that_could_tell_then_the_spec_is_not_made_up(ours: Words, theirs: Words) -> None:
    nothing = failing(ours, 0, 1, 2, size=3).ignore_errors()
    assert numbers(ours, nothing) == numbers(theirs, failing(theirs, 0, 1, 2, size=3).ignore_errors()) == []
    with pytest.raises(ps.errors.CardinalityError, match="to tell the element_spec from"):
        nothing.element_spec  # noqa: B018  (tf.data has traced the function)


def test_given_sizes_that_nobody_knows_then_padding_to_boundaries_asks_which_vary(ours: Words) -> None:
    def opaque(x: Any) -> Any:
        return np.arange(len(str(x)))

    with pytest.raises(ps.errors.ArgumentError, match="padded_shapes"):
        ours.Dataset.range(3).map(opaque).bucket_by_sequence_length(
            len, bucket_boundaries=[2], bucket_batch_sizes=[1, 1], pad_to_bucket_boundary=True
        )
