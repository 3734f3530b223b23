"""States of a job with some readers, over another number of readers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.errors import ArgumentError, ArgumentTypeError
from penstock.graph import track
from state.pipelines import branchy, events, noisy, picky

SIZE = 203


def before(num_shards: int, index: int) -> ps.Dataset:
    return ps.Dataset.range(SIZE).shard(num_shards, index).map(noisy).shuffle(7)


def after(num_shards: int, index: int) -> ps.Dataset:
    return (
        ps.Dataset.range(SIZE)
        .map(branchy, num_parallel_calls=2)
        .shard(num_shards, index)
        .batch(3)
        .prefetch(2)
    )


def failing(num_shards: int, index: int) -> ps.Dataset:
    return ps.Dataset.range(SIZE).shard(num_shards, index).map(picky)


def repeated(num_shards: int, index: int) -> ps.Dataset:
    return ps.Dataset.range(20).shard(num_shards, index).shuffle(20).repeat(3).batch(2)


PIPELINES = [before, after, failing, repeated]


def run_all(
    pipeline: Callable[[int, int], ps.Dataset], readers: int, stops: list[int]
) -> tuple[list[Any], list[str]]:
    """The states of all readers, each after some elements, and what they gave."""
    states, seen = [], []
    for i in range(readers):
        with pipeline(readers, i).iterate(seed=5, epoch=1) as it:
            seen += events(it, stops[i % len(stops)])
            states.append(json.loads(json.dumps(it.state())))
    return states, seen


def rest_of(pipeline: Callable[[int, int], ps.Dataset], states: list[Any], readers: int) -> list[str]:
    seen: list[str] = []
    for i in range(readers):
        with ps.reshard(pipeline, states, readers, i) as it:
            seen += events(it, 10_000)
    return seen


def whole(pipeline: Callable[[int, int], ps.Dataset], readers: int) -> Counter[str]:
    return Counter(run_all(pipeline, readers, [10_000])[1])


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("share", [track.SHARE, float("inf")])
@pytest.mark.parametrize("readers", [1, 2, 4, 6, 8])
def test_given_states_of_four_readers_then_any_number_goes_on_with_each_element_once(
    pipeline: Callable[[int, int], ps.Dataset], share: float, readers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(track, "SHARE", share)
    states, seen = run_all(pipeline, 4, [5, 0, 9, 3])
    assert Counter(seen + rest_of(pipeline, states, readers)) == whole(pipeline, 4)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_given_a_job_that_was_shared_out_anew_twice_then_still_each_element_comes_once(
    pipeline: Callable[[int, int], ps.Dataset],
) -> None:
    states, seen = run_all(pipeline, 4, [5, 0, 9, 3])
    for readers in (2, 3):
        later = []
        for i in range(readers):
            with ps.reshard(pipeline, states, readers, i) as it:
                seen += events(it, 4)
                later.append(json.loads(json.dumps(it.state())))
        states = later
    assert Counter(seen + rest_of(pipeline, states, 5)) == whole(pipeline, 4)


def test_given_as_many_readers_as_before_then_each_goes_on_with_its_own() -> None:
    states, _ = run_all(before, 3, [6])
    for i in range(3):
        with before(3, i).iterate(state=states[i]) as own, ps.reshard(before, states, 3, i) as it:
            assert events(it, 10_000) == events(own, 10_000)


def test_when_a_resharded_reader_is_stopped_then_its_state_goes_on_there() -> None:
    states, _ = run_all(after, 4, [2])
    with ps.reshard(after, states, 2, 1) as it:
        events(it, 5)
        state = json.loads(json.dumps(it.state()))
        rest = events(it, 10_000)
    with ps.reshard(after, states, 2, 0) as it:
        other = it.state()
    with ps.reshard(after, [other, state], 2, 1) as it:
        assert events(it, 10_000) == rest
    with pytest.raises(ArgumentError, match=r"ps\.reshard"):
        after(2, 1).iterate(state=state)


def test_given_readers_that_have_ended_then_they_add_nothing() -> None:
    states, seen = run_all(before, 2, [10_000])
    assert len(seen) == SIZE
    assert rest_of(before, states, 3) == []


@pytest.mark.parametrize(
    ("states", "error", "said"),
    [
        ([], ArgumentTypeError, "expected the states of all readers"),
        ({}, ArgumentTypeError, "expected the states of all readers"),
        ([1, 2], ArgumentTypeError, "expected what it.state"),
        (["{", "}"], ArgumentTypeError, "expected what it.state"),
    ],
)
def test_given_no_states_then_it_is_refused(states: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        ps.reshard(before, states, 2, 0)


def test_given_states_of_different_passes_then_they_are_refused() -> None:
    states = []
    for epoch in (0, 1):
        with before(2, epoch).iterate(seed=1, epoch=epoch) as it:
            states.append(it.state())
    with pytest.raises(ArgumentError, match=r"states of one epoch, got \[0, 1\]"):
        ps.reshard(before, states, 4, 0)


def test_given_states_that_were_changed_then_they_are_refused() -> None:
    states, _ = run_all(before, 2, [1])
    with pytest.raises(ArgumentError, match="a state is damaged"):
        ps.reshard(before, [states[0], {**states[1], "elements": 2}], 3, 0)
    with ps.reshard(before, states, 3, 0) as it:
        next(it)
        again = it.state()
    with pytest.raises(ArgumentError, match="a state is damaged"), ps.reshard(before, states, 3, 0) as it:
        it.load_state_dict({**again, "elements": 7})


def test_given_states_of_another_pipeline_then_they_are_refused() -> None:
    states, _ = run_all(before, 2, [1])
    with pytest.raises(ArgumentError, match="the state is of another pipeline"):
        ps.reshard(after, states, 4, 0)


def test_given_rows_of_arrays_then_they_come_whole() -> None:
    rows = np.arange(40).reshape(20, 2)

    def pipeline(num_shards: int, index: int) -> ps.Dataset:
        return ps.Dataset.from_tensor_slices({"x": rows}).shard(num_shards, index)

    states = []
    for i in range(2):
        with pipeline(2, i).iterate() as it:
            next(it)
            states.append(it.state())
    got = []
    for i in range(3):
        with ps.reshard(pipeline, states, 3, i) as it:
            got += [element["x"].tolist() for element in it]
    assert sorted(got) == rows[2:].tolist()


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ([0, 1, 2], "reader 0 of 3"),
        ([1, 0, 2, 3], "reader 0 of 4"),
        ([0, 0, 2, 3], "reader 1 of 4"),
    ],
)
def test_given_states_that_are_not_those_of_all_readers_in_order_then_that_is_said(
    order: list[int], said: str
) -> None:
    states, _ = run_all(before, 4, [3])
    with pytest.raises(ArgumentError, match=rf"taken for that of {said}.* in their order"):
        rest_of(before, [states[i] for i in order], 2)


@pytest.mark.parametrize("order", [[0], [0, 0], [1, 0], [0, 1, 1]])
def test_given_readers_of_a_job_that_was_shared_out_anew_then_none_is_left_out_or_taken_twice(
    order: list[int],
) -> None:
    states, _ = run_all(before, 4, [3])
    again = []
    for i in range(2):
        with ps.reshard(before, states, 2, i) as it:
            events(it, 5)
            again.append(it.state())
    with pytest.raises(ArgumentError, match=r"states of all readers, in their order"):
        ps.reshard(before, [again[i] for i in order], 3, 0)


def test_given_states_of_two_kinds_of_jobs_then_they_are_refused() -> None:
    states, _ = run_all(before, 2, [3])
    with ps.reshard(before, states, 4, 0) as it:
        mixed = it.state()
    with pytest.raises(ArgumentError, match=r"states of all readers, in their order"):
        ps.reshard(before, [mixed, states[1]], 3, 0)
