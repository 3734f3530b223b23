"""States of pipelines that change something while they run: their functions, and what caches have stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penstock as ps


def counts() -> Callable[[Any], Any]:
    calls: list[int] = []

    def function(x: Any) -> Any:
        calls.append(int(x))
        return x + 1

    return function


def loads_a_table() -> Callable[[Any], Any]:
    table: dict[int, int] = {}

    def function(x: Any) -> Any:
        if not table:
            table.update({number: number + 1 for number in range(20)})
        return table[int(x)]

    return function


def remembers() -> Callable[[Any], Any]:
    def function(x: Any, seen: list[int] = []) -> Any:  # noqa: B006
        seen.append(int(x))
        return x + 1

    return function


class Object:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return x + 1


FUNCTIONS = {"list": counts, "table": loads_a_table, "default": remembers, "object": Object}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("epochs", [0, 1])
def test_given_a_function_that_changes_what_it_refers_to_then_its_states_fit_a_new_declaration(
    name: str, epochs: int
) -> None:
    def declared() -> ps.Dataset:
        return ps.Dataset.range(20).map(FUNCTIONS[name]()).batch(2)

    ds = declared()
    for _ in range(epochs):
        list(ds)
    with ds.iterate() as it:
        for _ in range(4):
            next(it)
        state = json.loads(json.dumps(it.state()))
    rest = [[x, x + 1] for x in range(9, 20, 2)]
    assert [x.tolist() for x in declared().iterate(state=state)] == rest
    assert [x.tolist() for x in ds.iterate(state=state)] == rest
    again = declared()  # and a state of what went on
    with again.iterate(state=state) as it:
        next(it)
        later = it.state()
    assert [x.tolist() for x in declared().iterate(state=later)] == rest[1:]


def test_given_another_table_then_a_state_is_refused_still() -> None:
    def declared(size: int) -> ps.Dataset:
        table = {number: number * size for number in range(20)}
        return ps.Dataset.range(20).map(lambda x: table[int(x)])

    state = declared(2).iterate().state()
    with pytest.raises(ps.errors.ArgumentError, match="declared with another"):
        declared(3).iterate(state=state)


def test_given_an_array_that_does_not_lie_in_a_row_then_it_is_looked_at_without_a_copy() -> None:
    array = np.arange(1 << 14).reshape(1 << 7, 1 << 7)
    state = ps.Dataset.from_tensor_slices(array.T).iterate().state()
    assert len(list(ps.Dataset.from_tensor_slices(array.T.copy()).iterate(state=state))) == 1 << 7


SEEDED = ps.Options(seed=1)


def ints(elements: Any) -> list[int]:
    return [int(x) for x in elements]


@pytest.mark.parametrize("had", range(8))
def test_given_a_cache_of_what_is_shuffled_then_later_epochs_are_those_of_who_was_never_stopped(
    had: int,
) -> None:
    def declared() -> ps.Dataset:
        return ps.Dataset.range(6).shuffle(6).cache().with_options(SEEDED)

    steady = declared()
    epochs = [ints(steady) for _ in range(3)]
    stopped = declared()
    ints(stopped)
    with stopped.iterate() as it:
        for _ in range(had):
            next(it, None)
        state = it.state()
    new = declared()
    assert ints(new.iterate(state=state)) == epochs[1][had:]
    assert ints(new) == epochs[2]


def test_given_a_cache_that_is_never_read_to_its_end_then_later_repetitions_are_the_same() -> None:
    def declared() -> ps.Dataset:
        return (
            ps.Dataset.range(20).shuffle(5).cache().take(8).repeat(4).with_options(ps.Options(block_rows=1))
        )

    for had in range(32):
        with declared().iterate(seed=7) as it:
            for _ in range(had):
                next(it)
            state = it.state()
            rest = ints(it)
        assert ints(declared().iterate(state=state)) == rest, had


def test_given_a_cache_that_another_seed_has_filled_then_the_rest_is_exact_and_the_cache_stays() -> None:
    def declared() -> ps.Dataset:
        return ps.Dataset.range(10).shuffle(10).cache()

    with declared().iterate() as it:
        for _ in range(4):
            next(it)
        state = it.state()
        rest = ints(it)
    new = declared()
    filled = ints(new)
    assert ints(new.iterate(state=state)) == rest
    assert ints(new) == filled


def test_given_a_state_of_the_same_dataset_then_what_its_cache_has_is_not_made_again() -> None:
    made: list[int] = []

    def makes(x: Any) -> Any:
        made.append(int(x))
        return x

    ds = ps.Dataset.range(10).map(makes).cache()
    ints(ds)
    with ds.iterate() as it:
        next(it)
        state = it.state()
    made.clear()
    assert ints(ds.iterate(state=state)) == list(range(1, 10))
    assert not made


def nested(depth: int) -> str:
    return "[" * depth


@pytest.mark.parametrize(
    "state",
    [nested(100_000), {1: 2, "a": 3}, {"penstock": 10**400}, {"penstock": -1}, {"penstock": True, 5: 6}],
    ids=["nested", "keys", "large", "negative", "true"],
)
def test_given_what_is_no_state_then_it_is_refused_in_a_few_words(state: Any) -> None:
    with pytest.raises(ps.errors.ArgumentError) as raised:
        ps.Dataset.range(3).iterate(state=state)
    assert len(str(raised.value)) < 300


def test_given_an_array_in_place_of_the_check_then_the_state_is_refused() -> None:
    state = ps.Dataset.range(3).iterate().state()
    with pytest.raises(ps.errors.ArgumentError, match="damaged"):
        ps.Dataset.range(3).iterate(state={**state, "check": np.zeros(3)})


def readers(num_shards: int, index: int) -> ps.Dataset:
    return ps.Dataset.range(24).shard(num_shards, index)


def states() -> Iterator[Any]:
    for index in range(3):
        yield readers(3, index).iterate(seed=1, epoch=0).state()


def test_given_the_state_of_another_reader_then_it_is_refused() -> None:
    saved = list(states())
    state = ps.reshard(readers, saved, 2, 0).state()
    with pytest.raises(ps.errors.ArgumentError, match="expected the state of reader 1 of 2"):
        ps.reshard(readers, saved, 2, 1).load_state_dict(state)


def test_given_a_function_that_returns_no_dataset_then_the_error_says_so() -> None:
    with pytest.raises(ps.errors.ArgumentTypeError, match="returns a dataset, got NoneType"):
        ps.reshard(lambda *_: None, list(states()), 2, 0)


def test_given_two_states_of_one_run_then_both_know_what_the_cache_stores() -> None:
    def declared() -> ps.Dataset:
        return ps.Dataset.range(6).shuffle(6).cache().batch(2).with_options(SEEDED)

    steady = declared()
    epochs = [[x.tolist() for x in steady] for _ in range(3)]
    stopped = declared()
    list(stopped)
    with stopped.iterate() as it:
        it.state()
        next(it)
        state = it.state()
        list(it)
        ended = it.state()
    for saved, rest in ((state, epochs[1][1:]), (ended, [])):
        new = declared()
        assert [x.tolist() for x in new.iterate(state=saved)] == rest
        assert [x.tolist() for x in new] == epochs[2]


def test_given_a_state_that_was_only_looked_at_then_runs_with_another_seed_are_as_without_it() -> None:
    def declared() -> ps.Dataset:
        return ps.Dataset.range(10).shuffle(10).cache()

    first = declared()
    with first.iterate(seed=1, epoch=3) as it:
        next(it)
        state = it.state()
    looked = declared()
    looked.iterate(state=state).close()
    assert ints(looked.iterate(seed=2, epoch=5)) == ints(declared().iterate(seed=2, epoch=5))


def test_given_what_is_much_to_go_through_then_starting_does_not() -> None:
    table = {number: [number] for number in range(5_000)}
    ds = ps.Dataset.range(4).map(lambda x: len(table[int(x)]))
    with ds.iterate() as it:
        assert "said_arguments" not in ds.op.__dict__
        state = it.state()
    assert len(list(ds.iterate(state=state))) == 4
