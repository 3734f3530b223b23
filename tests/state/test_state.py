"""What a state is, what it costs, and when it is refused."""

from __future__ import annotations

import json
import sys
import threading
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from contract.op_contract import same
from contract.streams import FAILED, failing
from penstock.errors import ArgumentError, ArgumentTypeError, ClosedError
from penstock.graph import track
from state.pipelines import branchy, double, events, noisy


@pytest.fixture(params=[track.SHARE, float("inf")])
def share(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    """States are taken where it costs nothing, or wherever there is one to take."""
    monkeypatch.setattr(track, "SHARE", request.param)
    return float(request.param)


def stopped(ds: ps.Dataset, count: int, **how: Any) -> tuple[dict[str, Any], list[str]]:
    """The state after so many elements, and the rest."""
    with ds.iterate(**how) as it:
        events(it, count)
        state = json.loads(json.dumps(it.state()))
        return state, events(it, 10_000)


def rest_of(ds: ps.Dataset, state: Any) -> list[str]:
    with ds.iterate(state=state) as it:
        return events(it, 10_000)


def several(x: Any) -> ps.Dataset:
    return ps.Dataset.range(x, x + 3)


@pytest.mark.usefixtures("share")
def test_given_failing_elements_when_resumed_then_each_is_used_up_once() -> None:
    ds = failing(12, 2, 3, 7).batch(2)
    whole = events(ds.iterate(), 99)
    assert whole.count(FAILED) == 3
    for count in range(len(whole) + 1):
        state, rest = stopped(ds, count)
        assert state["elements"] == count
        assert rest == whole[count:]
        assert rest_of(ds, state) == rest, f"after {count}"


@pytest.mark.usefixtures("share")
def test_given_parallel_work_ahead_when_resumed_then_nothing_is_lost_or_repeated() -> None:
    ds = ps.Dataset.range(300).shuffle(20).map(branchy, num_parallel_calls=4).batch(3).prefetch(8)
    for count in (0, 1, 17, 60, 99, 100):
        state, rest = stopped(ds, count, seed=3)
        assert rest_of(ds, state) == rest, f"after {count}"


def test_given_no_seed_then_the_state_carries_those_that_were_drawn() -> None:
    def declared() -> ps.Dataset:
        return ps.Dataset.range(50).shuffle(10).map(noisy).flat_map(lambda x: ps.Dataset.range(3).shuffle(3))

    state, rest = stopped(declared(), 40)
    assert rest_of(declared(), state) == rest


def test_given_a_state_of_a_resumed_run_then_it_is_one_like_any_other() -> None:
    ds = ps.Dataset.range(60).shuffle(10, seed=1).batch(4)
    state, rest = stopped(ds, 3)
    again, later = stopped(ds, 4, state=state)
    assert later == rest[4:]
    assert again["elements"] == 7
    assert rest_of(ds, again) == later


def test_when_a_run_has_ended_or_was_closed_then_its_state_can_still_be_taken() -> None:
    ds = ps.Dataset.range(6)
    with ds.iterate() as it:
        assert [int(x) for x in it] == [0, 1, 2, 3, 4, 5]
        ended = it.state()
    assert rest_of(ds, ended) == []
    it = ds.iterate()
    assert (int(next(it)), int(next(it))) == (0, 1)
    it.close()
    with pytest.raises(ClosedError):
        next(it)
    assert [int(x) for x in ds.iterate(state=it.state())] == [2, 3, 4, 5]


def test_given_an_epoch_in_the_state_then_it_goes_on_in_that_one_and_counts_on() -> None:
    ds = ps.Dataset.range(30).shuffle(30, seed=1)
    state, rest = stopped(ds, 10, epoch=4)
    fresh = ps.Dataset.range(30).shuffle(30, seed=1)
    assert rest_of(fresh, state) == rest
    assert events(fresh.iterate(), 99) == events(ds.iterate(epoch=5), 99)


@pytest.mark.usefixtures("share")
def test_given_a_cache_and_epochs_then_a_new_process_fills_it_with_the_same_elements() -> None:
    def declared() -> ps.Dataset:
        return ps.Dataset.range(20).shuffle(20).map(noisy).cache().shuffle(5).repeat(3)

    for count in (0, 7, 20, 33, 59):
        state, rest = stopped(declared(), count, seed=5)
        other = declared()
        assert rest_of(other, state) == rest, f"after {count}"
        # The store that was left behind is of the same pass, and serves another run.
        assert rest_of(other, state) == rest, f"again after {count}"


def test_given_a_cache_that_holds_another_pass_then_it_is_not_used() -> None:
    def declared() -> ps.Dataset:
        return ps.Dataset.range(20).shuffle(20).cache().repeat(2)

    state, rest = stopped(declared(), 25, seed=5, epoch=1)
    other = declared()
    assert events(other.iterate(seed=5, epoch=2), 99) != []
    assert rest_of(other, state) == rest


def test_given_the_benchmark_pipelines_then_a_state_is_small() -> None:
    images = np.zeros((2000, 28, 28), np.uint8)
    ds = ps.Dataset.from_tensor_slices((images, np.arange(2000)))
    pipelines = {
        "images": ds.map(lambda x, y: (x.astype(np.float32) / 255, y)).shuffle(1000).batch(32).prefetch(2),
        "rows": ds.filter(lambda x, y: y >= 0).shuffle(1000).batch(8).prefetch(2),
        "mixed": ds.map(lambda x, y: y).interleave(
            lambda y: ps.Dataset.range(5).shuffle(2), cycle_length=16, num_parallel_calls=2
        ),
    }
    for name, pipeline in pipelines.items():
        with pipeline.iterate() as it:
            for _ in zip(range(30), it, strict=False):
                pass
            assert len(json.dumps(it.state())) < 64 << 10, name


def test_given_a_shuffle_of_rows_then_a_resumed_run_reads_no_more_than_fills_its_slots() -> None:
    slots = 100
    ds = ps.Dataset.range(30_000).filter(lambda x: x >= 0).shuffle(slots)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(track, "SHARE", float("inf"))
        state, _ = stopped(ds.with_options(ps.Options(block_rows=50)), 20_000, seed=1)
    # A slot is drawn once in about so many rows; the last of them to be drawn waits for longer.
    oldest = state["state"]["at"]["from"]["element"]
    assert 20_000 - 40 * slots < oldest <= 20_000


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            lambda: ps.Dataset.range(10).map(double).batch(3),
            "its batch has size=2, where this one has size=3",
        ),
        (
            lambda: ps.Dataset.range(11).map(double).batch(2),
            "its range has stop=10, where this one has stop=11",
        ),
        (lambda: ps.Dataset.range(10).map(noisy).batch(2), "its map was declared with another function"),
        (lambda: ps.Dataset.range(10).batch(2), "it has map where this one has batch"),
        (
            lambda: ps.Dataset.range(10).map(double).batch(2).take(3),
            "it has 3 ops and this one has 4: this one",
        ),
    ],
)
def test_given_another_pipeline_then_it_is_refused_and_the_difference_named(other: Any, said: str) -> None:
    state, _ = stopped(ps.Dataset.range(10).map(double).batch(2), 2)
    with pytest.raises(ArgumentError, match="the state is of another pipeline") as caught:
        other().iterate(state=state)
    assert said in str(caught.value)
    assert "test_state.py:" in str(caught.value) or "ops" in said


def test_given_only_another_parallelism_then_the_state_fits() -> None:
    state, rest = stopped(ps.Dataset.range(40).map(branchy, num_parallel_calls=4).prefetch(2), 11)
    assert rest_of(ps.Dataset.range(40).map(branchy).prefetch(ps.AUTOTUNE), state) == rest


def test_given_other_passes_of_the_optimizer_then_the_rest_is_the_same() -> None:
    ds = ps.Dataset.range(100).map(double).shuffle(20, seed=1).batch(5)
    state, rest = stopped(ds, 7)
    plain = ds.with_options(ps.Options(optimize=False))
    with plain.iterate(state=state) as it:
        assert events(it, 99) == rest
        notes = [note for op in it.report().ops for note in op.notes]
    assert any("went through 7 elements again" in note for note in notes)


def test_given_a_generator_then_the_report_says_that_it_was_gone_through_again() -> None:
    ds = ps.Dataset.from_generator(lambda: iter(range(20)))
    state, rest = stopped(ds, 5)
    with ds.iterate(state=state) as it:
        assert events_of(it) == len(rest)
        assert "from_generator: goes through its elements again, from the first on" in str(it.report())


def events_of(it: Any) -> int:
    return sum(1 for _ in it)


@pytest.mark.parametrize("wrong", [17, {"a": 1}, "not json", []])
def test_given_something_else_than_a_state_then_it_is_refused(wrong: Any) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match=r"expected what it\.state\(\) gave"):
        ps.Dataset.range(3).iterate(state=wrong)


def test_given_a_state_of_a_newer_form_then_it_is_refused() -> None:
    ds = ps.Dataset.range(3)
    state, _ = stopped(ds, 1)
    with pytest.raises(ArgumentError, match="Update Penstock"):
        ds.iterate(state={**state, "penstock": 1000})


def test_given_another_seed_or_epoch_beside_the_state_then_it_is_refused() -> None:
    ds = ps.Dataset.range(9).shuffle(3)
    state, rest = stopped(ds, 1, seed=3, epoch=2)
    with pytest.raises(ArgumentError, match="seed=3, got seed=4"):
        ds.iterate(state=state, seed=4)
    with pytest.raises(ArgumentError, match="epoch=2, got epoch=0"):
        ds.iterate(state=state, epoch=0)
    assert events(ds.iterate(state=state, seed=3, epoch=2), 99) == rest


def test_given_elements_in_any_order_then_there_is_no_state() -> None:
    ds = ps.Dataset.range(9).map(branchy, num_parallel_calls=2, deterministic=False)
    with ds.iterate() as it, pytest.raises(ArgumentError, match="deterministic=False"):
        it.state()


def test_when_states_are_taken_while_another_thread_iterates_then_each_is_true() -> None:
    ds = ps.Dataset.range(20_000).batch(2)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(10):
            for state in _taken_meanwhile(ds):
                done = state["elements"]
                with ds.iterate(state=state) as it:
                    assert [x.tolist() for x in islice(it, 1)] == [[2 * done, 2 * done + 1]][: 10_000 - done]
    finally:
        sys.setswitchinterval(before)


def _taken_meanwhile(ds: ps.Dataset) -> list[dict[str, Any]]:
    """States that this thread takes while another one iterates: the first, the last and some between."""
    with ds.iterate() as it:
        reader = threading.Thread(target=lambda: [None for _ in it])
        states = [it.state()]
        reader.start()
        while reader.is_alive():
            states.append(it.state())
        reader.join()
    return [*states[:: len(states) // 20 + 1], states[-1]]


def test_given_a_window_in_the_users_hands_then_the_resumed_run_makes_its_own() -> None:
    ds = ps.Dataset.range(20).window(4, shift=2)
    with ds.iterate() as it:
        held = [next(it), next(it), next(it)]
        state = it.state()
        assert [int(x) for x in held[2]] == [4, 5, 6, 7]
        rest = [list(window) for window in it]
    with ds.iterate(state=state) as it:
        assert same([list(window) for window in it], rest)


def test_given_the_state_that_the_first_version_wrote_then_it_is_read() -> None:
    saved = json.loads((Path(__file__).parent / "form1.json").read_text())
    from state.form1 import pipeline

    with pipeline().iterate(state=saved["state"]) as it:
        assert events(it, 10_000) == saved["rest"]


def test_given_numbers_of_numpy_then_they_are_taken_as_pythons() -> None:
    def declared(number: Any) -> ps.Dataset:
        ds = ps.Dataset.range(number(40)).shuffle(number(7), seed=number(3)).batch(number(2))
        return ds.repeat(number(2)).interleave(ps.Dataset.from_tensors, number(2), number(1)).take(number(30))

    for number in (np.int64, np.array):
        for how in ({}, {"seed": number(5)}, {"epoch": number(5)}):
            state, rest = stopped(declared(number), 3, **how)
            assert rest_of(declared(int), state) == rest
    options = ps.Options(seed=np.int64(1) << 40, block_rows=np.int32(2), memory=np.int64(1) << 22)  # type: ignore[arg-type]
    state, rest = stopped(declared(np.int64).with_options(options), 3)
    assert rest_of(declared(int).with_options(options), state) == rest


@pytest.mark.parametrize("seed", [None, 5])
def test_given_one_cache_in_two_places_then_both_give_every_element_and_so_does_the_rest(
    seed: int | None,
) -> None:
    def declared() -> ps.Dataset:
        one = ps.Dataset.range(20).shuffle(20).cache()
        return ps.Dataset.sample_from_datasets([one, one.map(lambda x: x + 100)], seed=1)

    ds = declared()
    state, rest = stopped(ds, 9, seed=seed)
    with ds.iterate(seed=seed) as it:
        assert sorted(int(x) for x in it) == [*range(20), *range(100, 120)]
    assert rest_of(declared(), state) == rest


@pytest.mark.parametrize(
    "wrong",
    [{"pipeline": "x"}, {"pipeline": [3]}, {"seeds": "x"}, {"seeds": []}, {"state": 3}],
)
def test_given_a_damaged_state_then_it_is_refused_and_the_line_named(wrong: Any) -> None:
    ds = ps.Dataset.range(9).batch(2)
    state, _ = stopped(ds, 2)
    for form in (state, {name: value for name, value in state.items() if name != "check"}):
        with pytest.raises(ArgumentError, match=r"iterate\(state=\) at .*test_state\.py:\d+: the state is"):
            ds.iterate(state={**form, **wrong})


def changes_of(value: Any) -> list[Any]:
    """The same plain data with one thing changed, for every thing in it."""
    if isinstance(value, dict):
        return [{**value, name: other} for name, part in value.items() for other in changes_of(part)]
    if isinstance(value, list):
        shorter = [value[:-1]] if value else []
        return [
            *shorter,
            *(
                [*value[:i], other, *value[i + 1 :]]
                for i, part in enumerate(value)
                for other in changes_of(part)
            ),
        ]
    return [not value] if isinstance(value, bool) else [value + 1 if isinstance(value, int) else "other"]


def test_given_a_state_with_anything_changed_then_it_is_refused() -> None:
    ds = ps.Dataset.range(90).shuffle(20, seed=1).interleave(several, cycle_length=3).map(branchy).batch(2)
    state, rest = stopped(ds, 9)
    changed = changes_of(state)
    assert len(changed) > 30
    for other in changed:
        with pytest.raises(ArgumentError, match=r"iterate\(state=\) at .*test_state\.py:\d+: the state "):
            ds.iterate(state=other)
    assert rest_of(ds, state) == rest


def test_given_a_state_with_something_beside_it_or_with_numbers_of_numpy_then_the_rest_is_the_same() -> None:
    ds = ps.Dataset.range(9).batch(2)
    state, rest = stopped(ds, 2)
    assert rest_of(ds, {**state, "step": 7}) == rest
    assert rest_of(ds, {**state, "elements": np.int64(state["elements"])}) == rest


def test_given_a_state_of_a_library_that_had_no_checks_then_the_rest_is_the_same() -> None:
    ds = ps.Dataset.range(9).batch(2)
    state, rest = stopped(ds, 2)
    del state["check"]
    assert rest_of(ds, state) == rest


def test_given_a_scan_whose_state_is_too_large_to_be_saved_then_the_rest_is_the_same() -> None:
    ds = ps.Dataset.range(40).scan(np.zeros(5000), lambda carried, x: (carried + x, carried[0] + x))
    for taken in (0, 1, 17, 40):
        state, rest = stopped(ds, taken)
        assert rest_of(ds, state) == rest


def test_given_files_that_have_changed_since_then_a_shuffle_of_all_records_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"

    def write(records: int) -> None:
        with ps.io.TFRecordWriter(path) as writer:
            for i in range(records):
                writer.write(b"%d" % i)

    write(50)
    ds = ps.TFRecordDataset(path).shuffle(seed=1)
    with ds.iterate() as it:
        for _ in range(7):
            next(it)
        state = it.state()
    assert len(list(ds.iterate(state=state))) == 43
    write(60)
    with pytest.raises(ArgumentError, match=r"shuffle at .*: the state was taken in .* 50 .* 60 now"):
        list(ds.iterate(state=state))
