"""`Options`: what it takes, and what it says of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps


@pytest.mark.parametrize("wrong", ["fuse_maps", 3])
def test_given_no_list_of_passes_then_the_error_says_what_was_expected(wrong: Any) -> None:
    with pytest.raises(
        ps.errors.ArgumentTypeError,
        match=r"optimize=\) at .*test_options\.py:\d+: expected True, False, or a list",
    ):
        ps.Options(optimize=wrong)


@pytest.mark.parametrize("wrong", [["fuse"], [3]])
def test_given_a_pass_that_is_none_then_the_error_names_those_that_are(wrong: Any) -> None:
    with pytest.raises(ps.errors.ArgumentError, match=r"no pass is called .*the passes are fuse_maps, "):
        ps.Options(optimize=wrong)


@pytest.mark.parametrize("said", [{"seed": 1.5}, {"seed": True}, {"block_rows": "3"}, {"memory": 1.5}])
def test_given_no_whole_number_then_it_is_refused(said: Any) -> None:
    with pytest.raises(
        ps.errors.ArgumentTypeError, match=rf"Options\({next(iter(said))}=\) at .*: expected "
    ):
        ps.Options(**said)


def test_given_numbers_of_numpy_then_they_are_pythons() -> None:
    options = ps.Options(seed=np.int64(3), block_rows=np.uint8(4))  # type: ignore[arg-type]
    assert (type(options.seed), type(options.block_rows)) == (int, int)


def test_given_none_as_in_tf_data_then_prefetch_and_shuffle_take_their_defaults() -> None:
    ds = ps.Dataset.range(9).shuffle(9, seed=1, reshuffle_each_iteration=None).prefetch(None)
    first, second = ([int(x) for x in ds] for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(9))
    assert first != second


@pytest.mark.parametrize("said", [64, "64", np.int64(64), 4095])
def test_given_a_budget_of_a_few_bytes_then_it_is_taken_for_a_slip(
    said: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    meant = rf"test_options\.py:\d+: expected at least 4096 bytes, got {said}, .*'{said}MiB', or {said} << 20"
    for declare in (
        lambda: ps.Options(memory=said),
        lambda: ps.Budget(said),
        lambda: ps.Dataset.range(3).iterate(memory=said),
        lambda: ps.Dataset.range(3).explain(memory=said),
    ):
        with pytest.raises(ps.errors.ArgumentError, match=meant):
            declare()
    monkeypatch.setenv("PENSTOCK_MEMORY", str(said))
    with pytest.raises(ps.errors.ArgumentError, match=f"PENSTOCK_MEMORY: .*'{said}MiB'"):
        list(ps.Dataset.range(3))


def test_given_a_page_then_it_is_a_budget() -> None:
    assert ps.Budget(4096).total == 4096
    assert [int(x) for x in ps.Dataset.range(3).iterate(memory=4096)] == [0, 1, 2]


@pytest.mark.parametrize(
    "declare",
    [
        lambda: ps.Options(memory="much"),
        lambda: ps.Options(seed="a"),  # type: ignore[arg-type]
        lambda: ps.Options(block_rows=0),
        lambda: ps.Options(optimize=["none"]),  # type: ignore[arg-type]
        lambda: ps.Options(worker_timeout=0),
        lambda: ps.Options(scratch="/nowhere/at/all"),
        lambda: ps.TensorSpec((3,), "flaot32"),
        lambda: ps.TensorSpec(("a",), "float32"),  # type: ignore[arg-type]
        lambda: ps.Ragged(np.zeros(3), np.array([1, 2])),
        lambda: ps.Ragged(np.zeros(3), np.zeros(2)),
    ],
)
def test_given_a_wrong_argument_then_the_error_has_the_users_line(declare: Any) -> None:
    with pytest.raises(ps.errors.PenstockError, match=r"^\w+\(\w+=\) at .*test_options\.py:\d+: "):
        declare()
