"""Which line it is, where several take and give back."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.doctor.accuse import likely, lost, most
from penstock.doctor.bursts import WASTE, Rounds
from penstock.doctor.places import Place
from penstock.doctor.probes import Evidence

TAKES, GIVES, KEEPS, OTHER = (Place("train.py", line) for line in (3, 4, 5, 6))


def test_given_a_line_that_gives_back_what_another_takes_then_it_is_neither() -> None:
    lines = {TAKES: [100.0, 101.0, 100.0], GIVES: [-100.0, -100.0, -101.0], KEEPS: [9.0, 9.0, 9.0]}
    assert likely(lines) == KEEPS
    assert likely({TAKES: [100.0], GIVES: [-100.0]}) is None


def test_given_a_line_that_gives_back_less_than_another_takes_then_that_one_may_be_it() -> None:
    assert likely({TAKES: [100.0, 100.0], GIVES: [-20.0, -20.0], KEEPS: [9.0, 9.0]}) == TAKES


def test_given_a_line_whose_share_is_the_whole_then_it_is_the_line_though_another_adds_more() -> None:
    lines = {TAKES: [300.0, 300.0], KEEPS: [50.0, 50.0]}
    assert likely(lines) == TAKES
    assert likely(lines, whole=100.0) == KEEPS
    assert likely(lines, whole=1000.0) == TAKES


def test_given_lines_that_add_as_much_then_it_is_the_one_with_the_most_weight_or_the_first() -> None:
    lines = {OTHER: [1.0, 1.0], KEEPS: [1.0, 1.0]}
    assert likely(lines) == KEEPS
    assert likely(lines, weight={OTHER: [4096.0]}) == OTHER
    assert likely({OTHER: [2.0, 2.0], KEEPS: [1.0, 1.0]}, weight={KEEPS: [4096.0]}) == OTHER


def test_given_no_line_then_there_is_none() -> None:
    assert likely({}) is None
    assert most(Counter()) is None
    assert most(Counter({KEEPS: 2, OTHER: 5})) == OTHER


def evidence(*rounds: Rounds) -> Evidence:
    one = Evidence(Any, SimpleNamespace())  # type: ignore[arg-type]
    for burst in rounds:
        one.bursts.append(burst)
    return one


def seen(place: Place, gained: float, made: int = 0, rounds: int = 4) -> Rounds:
    sites = {"tf-variables": Counter({place: made})} if made else {}
    return Rounds({"memory.heap": {place: [gained]}}, sites, Counter({place: rounds}), rounds)


def test_given_several_times_that_lines_were_followed_then_the_first_does_not_count() -> None:
    found = evidence(seen(TAKES, 1e9), seen(KEEPS, 10.0), seen(KEEPS, 20.0))
    assert found.lines("memory.heap") == {KEEPS: [10.0, 20.0]}
    assert found.rounds() == 8
    assert evidence(seen(TAKES, 1e9)).lines("memory.heap") == {TAKES: [1e9]}


def test_given_what_growth_is_counted_by_then_its_rounds_are_those_that_were_followed() -> None:
    ran = Counter({TAKES: 3, GIVES: 2, KEEPS: 14, OTHER: 12})  # a loop in line 3 with another in line 5
    one, *more = (Rounds({}, {}, ran, 9, steps={"optimizer steps": 12}) for _ in range(3))
    assert [one.rounds_of(f"loop train.py:{line} i") for line in (3, 5)] == [2, 12]
    assert one.rounds_of("loop train.py:2 i") == one.rounds_of("loop model.py:3 i") == 0
    assert (one.rounds_of("optimizer steps"), one.rounds_of(""), one.rounds_of("seconds")) == (12, 9, 0)
    assert evidence(one, *more).rounds("loop train.py:5 i") == 24


@pytest.mark.parametrize(("made", "said"), [(4, True), (1, False)])
def test_given_what_is_made_in_every_round_and_dropped_then_it_is_said(made: int, said: bool) -> None:
    waste = evidence(seen(KEEPS, 1.0, made), seen(KEEPS, 1.0, made)).waste()
    assert waste == [f"train.py:5: {WASTE['tf-variables']}"] * said


def test_given_a_line_that_gives_back_now_and_then_what_another_takes_then_it_is_neither() -> None:
    gives = [0.0, -100.0, 2.0, -101.0, -1.0, -99.0]
    assert likely({TAKES: [100.0, 100.0, 100.0], GIVES: gives, KEEPS: [90.0, 91.0]}) == KEEPS


def test_given_lines_that_do_both_then_there_is_an_answer() -> None:
    lines = {TAKES: [-1.0, -1.0, 102.0], GIVES: [-50.0, -50.0], OTHER: [-1.0, -1.0, 102.0], KEEPS: [3.0]}
    assert likely(lines) in (TAKES, OTHER, KEEPS)


def test_given_two_lines_that_can_have_taken_what_is_given_back_then_it_is_the_one_with_less_weight() -> None:
    for first, second in ((TAKES, KEEPS), (KEEPS, TAKES)):
        lines = {first: [100.0] * 3, second: [100.0] * 3, GIVES: [-100.0] * 3}
        assert likely(lines, weight={first: [100.0] * 3, second: [0.0] * 3}) == first
        assert likely(lines, weight={first: [0.0] * 3, second: [100.0] * 3}) == second


def test_given_lines_whose_shares_are_the_whole_then_it_is_the_one_with_the_most_weight() -> None:
    lines = {TAKES: [100.0, 100.0], KEEPS: [100.0, 102.0]}
    assert likely(lines, whole=200.0, weight={TAKES: [0.0], KEEPS: [100.0]}) == KEEPS
    assert likely(lines, whole=200.0, weight={TAKES: [100.0], KEEPS: [0.0]}) == TAKES


def test_given_lines_whose_memory_a_name_has_then_they_are_left_out() -> None:
    lines = {TAKES: [800.0, 800.0], GIVES: [-1600.0], KEEPS: [20.0, 20.0]}
    assert lost(lines, {TAKES: [1.0, 1.0], GIVES: [-2.0], KEEPS: [20.0, 20.0]}) == {KEEPS: [20.0, 20.0]}
    assert lost(lines, {TAKES: [1.0, 1.0], KEEPS: [0.0]}) == lines  # nothing else would be left
    assert lost(lines, {}) == lines
