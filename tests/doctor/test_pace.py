"""How often the doctor looks: a small share of the time, and often enough for a script that is short."""

from __future__ import annotations

import sys

import pytest

from penstock.doctor.clock import Clock
from penstock.doctor.pace import CLOSEST, Pace
from penstock.doctor.turns import Turns


def paced(cost: float, seconds: float, pace: Pace | None = None, start: float = 0.0) -> list[float]:
    """When samples are taken that cost as much, in a loop whose steps take no time."""
    pace = pace or Pace()
    now, taken = start, []
    while now < start + seconds:
        taken.append(now)
        pace.sampled(now, now + cost, cost)
        now = max(now + cost, pace.due)
    return taken


@pytest.mark.parametrize("cost", [0.0005, 0.003, 0.02])
def test_given_a_long_loop_then_samples_take_a_twentieth_of_it_at_most(cost: float) -> None:
    taken = paced(cost, 120.0)
    late = [at for at in taken if at >= 20.0]
    assert len(late) * cost <= 0.05 * 100.0
    assert len(taken) * cost <= 0.05 * 120.0
    assert len(late) >= 50


@pytest.mark.parametrize("cost", [0.001, 0.005, 0.02])
def test_given_a_loop_of_two_seconds_then_there_are_enough_samples_all_over_it(cost: float) -> None:
    taken = paced(cost, 2.0)
    assert len(taken) >= 14
    assert len([at for at in taken if at > 0.4]) >= 8  # after the warm-up
    assert len(taken) * cost <= 0.6


def test_given_a_quiet_time_then_what_was_not_spent_is_not_spent_at_once() -> None:
    pace = Pace()
    paced(0.003, 1.0, pace)
    later = paced(0.003, 1.0, pace, start=600.0)
    assert len(later) * 0.003 <= 0.05 + 2 * 0.05


def test_given_a_sample_that_others_have_held_up_then_the_work_in_it_counts() -> None:
    pace = Pace()
    pace.sampled(0.0, 60.0, 0.002)
    assert pace.due < 61.0


def test_given_lines_that_were_dear_to_watch_then_samples_go_on_and_lines_wait() -> None:
    pace = Pace()
    now = paced(0.002, 1.0, pace)[-1]
    due = pace.due
    assert pace.burst_now(now)
    pace.burst_took(0.5, now)
    assert pace.due <= max(due, now + CLOSEST)
    now = paced(0.002, 5.0, pace, start=now)[-1]
    assert not pace.burst_now(now)
    now = paced(0.002, 60.0, pace, start=now)[-1]
    assert pace.burst_now(now)


def test_given_a_process_that_was_stopped_then_its_clock_has_stood_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = {"wall": 100.0, "work": 1.0}
    monkeypatch.setattr("penstock.doctor.clock.perf_counter", lambda: times["wall"])
    monkeypatch.setattr("penstock.doctor.clock.process_time", lambda: times["work"])
    clock = Clock()
    clock.sleeps()
    times["wall"] += 30.25  # it had asked for a quarter of a second, and nothing was done meanwhile
    clock.wakes(0.25)
    assert clock.now() == pytest.approx(100.25)
    clock.sleeps()
    times["wall"] += 30.0
    times["work"] += 29.0  # a long call of a library
    clock.wakes(0.25)
    assert clock.now() == pytest.approx(130.25)


def test_given_a_busy_machine_then_the_pause_is_that_of_the_work() -> None:
    quiet, busy = Pace(), Pace()
    for pace, wall in ((quiet, 0.02), (busy, 0.2)):
        pace.sampled(0.0, wall, 0.02)
        pace.sampled(60.0, 60.0 + wall, 0.02)
    assert busy.due - 60.2 <= 2 * (quiet.due - 60.02)


def test_given_a_script_that_others_hold_up_at_first_then_samples_come_as_close_as_at_first() -> None:
    pace = Pace()
    before = len(paced(0.004, 0.03, pace))
    after = len(paced(0.004, 1.0, pace, start=60.0))
    assert before < 6 and before + after >= 18
    assert len(paced(0.004, 60.0, pace, start=61.0)) * 0.004 <= 0.05 * 60.0


def test_given_a_loop_of_a_tenth_of_a_second_then_there_are_enough_samples() -> None:
    assert len(paced(0.002, 0.1)) >= 20


def test_given_a_loop_in_python_then_the_clock_has_its_turn_sooner_for_a_while_only() -> None:
    before = sys.getswitchinterval()
    turns = Turns()
    turns.shorten()
    assert sys.getswitchinterval() < before
    turns.restore()
    assert sys.getswitchinterval() == pytest.approx(before)


def test_given_a_script_that_sets_how_long_a_turn_is_then_it_stays_so() -> None:
    before = sys.getswitchinterval()
    turns = Turns()
    turns.shorten()
    try:
        sys.setswitchinterval(0.02)
        turns.restore()
        assert sys.getswitchinterval() == pytest.approx(0.02)
    finally:
        sys.setswitchinterval(before)
