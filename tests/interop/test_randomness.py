"""Words whose order is random: each library has its own, and both keep the same promises."""

from __future__ import annotations

import numpy as np
import pytest

from interop.words import Words, trace

SIZE, BUFFER = 40, 7


def both(ours: Words, theirs: Words) -> tuple[Words, Words]:
    return ours, theirs


def numbers(w: Words, ds: object, limit: int = 1000) -> list[int]:
    return [item[2] for item in trace(w, ds, limit)]


def test_given_a_shuffle_then_each_element_comes_once_and_none_too_early(ours: Words, theirs: Words) -> None:
    for w in both(ours, theirs):
        got = numbers(w, w.Dataset.range(SIZE).shuffle(BUFFER, seed=3))
        assert sorted(got) == list(range(SIZE))
        assert got != list(range(SIZE))
        assert all(number - place < BUFFER for place, number in enumerate(got))


def test_given_a_seed_then_it_fixes_the_sequence_of_epochs_not_one_order(ours: Words, theirs: Words) -> None:
    for w in both(ours, theirs):
        epochs = []
        for _ in range(2):
            ds = w.Dataset.range(SIZE).shuffle(SIZE, seed=5)
            epochs.append([numbers(w, ds) for _ in range(3)])
        assert epochs[0] == epochs[1]
        assert epochs[0][0] != epochs[0][1] != epochs[0][2]


def test_given_repeat_after_shuffle_then_each_repetition_has_its_own_order(
    ours: Words, theirs: Words
) -> None:
    for w in both(ours, theirs):
        got = numbers(w, w.Dataset.range(SIZE).shuffle(SIZE, seed=5).repeat(2))
        assert sorted(got[:SIZE]) == sorted(got[SIZE:]) == list(range(SIZE))
        assert got[:SIZE] != got[SIZE:]


def test_given_no_reshuffling_then_every_epoch_has_the_same_order(ours: Words, theirs: Words) -> None:
    for w in both(ours, theirs):
        ds = w.Dataset.range(SIZE).shuffle(SIZE, seed=5, reshuffle_each_iteration=False)
        first = numbers(w, ds)
        assert numbers(w, ds) == first
        assert numbers(w, ds.repeat(2)) == first * 2


def test_given_a_cache_after_a_shuffle_then_the_order_is_kept(ours: Words, theirs: Words) -> None:
    for w in both(ours, theirs):
        ds = w.Dataset.range(SIZE).shuffle(SIZE).cache()
        assert numbers(w, ds) == numbers(w, ds)


def test_given_an_unknown_buffer_size_then_the_whole_is_shuffled(ours: Words, theirs: Words) -> None:
    for w in both(ours, theirs):
        ds = w.Dataset.range(SIZE)
        got = numbers(w, ds.shuffle(ds.filter(lambda x: x > 0).cardinality(), seed=1))
        assert sorted(got) == list(range(SIZE))


def test_given_random_then_numbers_are_int64_and_the_same_in_every_epoch(ours: Words, theirs: Words) -> None:
    for w in both(ours, theirs):
        ds = w.Dataset.random(seed=4).take(20)
        first = trace(w, ds)
        assert {item[0] for item in first} == {"int64"}
        assert len({item[2] for item in first}) == 20
        assert all(0 <= item[2] < 1 << 32 for item in first)
        assert trace(w, ds) == first


def test_given_random_rerandomized_then_epochs_differ(ours: Words, theirs: Words) -> None:
    for w in both(ours, theirs):
        ds = w.Dataset.random(seed=4, rerandomize_each_iteration=True).take(20)
        assert trace(w, ds) != trace(w, ds)


@pytest.mark.parametrize("stop", [False, True])
def test_given_weights_then_datasets_are_mixed_in_that_measure(
    ours: Words, theirs: Words, stop: bool
) -> None:
    for w in both(ours, theirs):
        ones = w.Dataset.from_tensors(np.int64(1)).repeat()
        zeros = w.Dataset.from_tensors(np.int64(0)).repeat()
        ds = w.Dataset.sample_from_datasets(
            [zeros, ones], weights=[0.25, 0.75], seed=2, stop_on_empty_dataset=stop
        )
        got = numbers(w, ds.take(4000), limit=4000)
        assert 0.72 < np.mean(got) < 0.78
        assert numbers(w, ds.take(30)) == numbers(w, ds.take(30))


def test_given_an_emptied_dataset_then_mixing_stops_or_goes_on(ours: Words, theirs: Words) -> None:
    for w in both(ours, theirs):
        parts = [w.Dataset.range(3), w.Dataset.range(100, 120)]
        on = w.Dataset.sample_from_datasets(parts, weights=[0.5, 0.5], seed=1)
        assert sorted(numbers(w, on)) == [0, 1, 2, *range(100, 120)]
        off = w.Dataset.sample_from_datasets(parts, weights=[0.5, 0.5], seed=1, stop_on_empty_dataset=True)
        got = numbers(w, off)
        assert len(got) < 23
        assert [number for number in got if number < 100] == [0, 1, 2][: sum(n < 100 for n in got)]


def test_given_a_target_then_resampling_reaches_it(ours: Words, theirs: Words) -> None:
    for w in both(ours, theirs):
        classes = np.array([0] * 9 + [1], np.int32)
        ds = w.Dataset.from_tensor_slices(classes).repeat().take(6000)
        for initial in ([0.9, 0.1], None):
            resampled = ds.rejection_resample(
                lambda x: x, target_dist=[0.5, 0.5], initial_dist=initial, seed=1
            )
            got = [item[1][0][2] for item in trace(w, resampled, 6000)]
            assert 0.4 < np.mean(got[-800:]) < 0.6
