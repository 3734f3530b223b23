"""How many calls at once: what is tried, what is kept, and that it settles."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from penstock.engine.depth import Depth
from penstock.engine.meter import Meter
from penstock.engine.tuner import Calls, most_calls
from penstock.engine.turn import Turn


class Work:
    """A made-up op: a block takes `cost(calls)` seconds, then who pulls does something else for `other`."""

    def __init__(
        self,
        cost: Callable[[int], float],
        start: int = 2,
        most: int = 64,
        other: float = 0.0,
        noise: float = 0.0,
    ) -> None:
        self.cost = cost
        self.other = other
        self.meter = Meter()
        self.turn = Turn()
        self.calls = Calls(self.turn, self.meter, start, most)
        self.now = 0.0
        self.seen: list[tuple[float, int]] = []
        self._random = np.random.default_rng(5)
        self._noise = noise

    def run(self, seconds: float) -> int:
        """Pull for so long; the number of calls that it has come to."""
        end = self.now + seconds
        while self.now < end:
            began = self.now
            self.now += self.cost(self.calls.now) * (1 + self._noise * self._random.random())
            self.turn.asked(began, self.now)
            self.calls.pulled(began, self.now, 32)
            self.seen.append((self.now, self.calls.now))
            self.now += self.other
        return self.calls.now

    def changes(self, since: float) -> int:
        """How often the number has changed since then."""
        late = [calls for when, calls in self.seen if when >= since]
        return sum(a != b for a, b in pairwise(late))


def waiting(calls: int) -> float:
    """Calls that wait: twice as many take half as long, up to 32."""
    return 0.04 / min(calls, 32) + 0.0002


def computing(calls: int) -> float:
    """Calls that fill two cores, and get into each other's way beyond."""
    return 0.01 / min(calls, 2) * (1 + 0.02 * max(calls - 2, 0))


def locking(calls: int) -> float:
    """Calls that hold one lock: more than one at a time only get into each other's way."""
    return 0.005 * (1 + 0.15 * (calls - 1))


@pytest.mark.parametrize(
    ("cost", "best"),
    [(waiting, {32, 64}), (computing, {2}), (locking, {1})],
    ids=["waits", "computes", "locks"],
)
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_then_within_two_seconds_it_is_at_its_best_and_stays_there(
    cost: Callable[[int], float], best: set[int], noise: float
) -> None:
    work = Work(cost, noise=noise)
    work.run(2.0)
    at_two = work.calls.now
    assert cost(at_two) <= 1.1 * min(cost(calls) for calls in (1, 2, 4, 8, 16, 32, 64))
    work.run(30.0)
    away = sum(calls not in best for when, calls in work.seen if when > 2.0)
    assert work.calls.now in best
    assert away / len(work.seen) < 0.05, "what it tries again takes little of the time"
    # Up and down are tried after 1, 2, 4, 8 and 16 seconds, each time there and back.
    assert work.changes(2.0) <= 5 * 4


@pytest.mark.parametrize(("busy", "tried"), [(1.0, {2}), (0.5, {1, 2, 4})])
def test_given_calls_that_each_have_a_core_then_no_time_is_lost_with_fewer(
    busy: float, tried: set[int]
) -> None:
    work = Work(computing, most=4)
    for _ in range(20):
        work.calls.worked(0.01, 0.01 * busy)
    work.run(3.0)
    assert {calls for _, calls in work.seen} == tried


def test_given_a_loop_that_hardly_waits_then_as_few_calls_are_made_as_will_do() -> None:
    work = Work(lambda calls: 0.002 / calls, start=16, other=0.05)
    work.run(5.0)
    # With two calls it waits for 2% of its time, with one for 4%.
    assert work.calls.now in (1, 2)
    assert max(calls for _, calls in work.seen) == 16
    settled = work.changes(2.0)
    work.run(20.0)
    assert work.changes(2.0) - settled <= 4 * 2
    assert work.meter.chosen["calls at once"].why in ("the loop waits 4% of its time", "1 would not do")


def test_when_a_loop_that_hardly_waited_begins_to_wait_then_there_are_more_calls_again() -> None:
    work = Work(lambda calls: 0.002 / calls, start=8, other=0.05)
    work.run(3.0)
    assert work.calls.now <= 2
    work.other = 0.0
    work.run(6.0)
    assert work.calls.now >= 8


def test_given_a_step_that_gains_for_a_moment_only_then_it_is_not_kept() -> None:
    work = Work(computing, most=4)
    first: list[float] = []

    def lucky(calls: int) -> float:
        if calls == 2:
            return 0.01
        first[:] = first or [work.now]
        return 0.002 if work.now - first[0] < 0.12 else 0.02

    work.cost = lucky
    work.run(0.9)
    assert max(calls for _, calls in work.seen) == 4
    assert work.meter.chosen["calls at once"].value <= 2
    assert work.calls.now <= 2


def test_given_no_more_than_is_of_use_then_no_more_is_tried() -> None:
    work = Work(waiting, start=2, most=8)
    work.run(5.0)
    assert max(calls for _, calls in work.seen) == 8
    assert work.calls.now == 8


@pytest.mark.parametrize(("busy", "most"), [(1.0, 2), (0.5, 4), (0.1, 20), (0.01, 64), (0.0, 64)])
def test_given_calls_that_keep_a_core_busy_then_no_more_are_tried_than_could_be_of_use(
    busy: float, most: int
) -> None:
    work = Work(lambda calls: 0.01 / calls)
    for _ in range(500):
        work.calls.worked(0.01, 0.01 * busy)
    assert work.calls.most == most
    work.run(5.0)
    assert most // 2 < max(calls for _, calls in work.seen) <= most


def test_when_the_work_changes_then_it_is_found_out() -> None:
    work = Work(computing)
    assert work.run(3.0) == 2
    work.cost = waiting
    work.run(8.0)
    assert work.calls.now >= 16


def test_given_a_step_that_gained_then_the_report_says_by_how_much() -> None:
    work = Work(waiting, most=4)
    work.run(0.45)
    chosen = work.meter.chosen["calls at once"]
    assert (chosen.what, chosen.value) == ("calls at once", 4)
    assert chosen.why == "with 2 a row took 2.0 times as long"


def test_given_a_step_that_gained_nothing_then_the_report_says_what_it_cost() -> None:
    work = Work(lambda calls: 0.01 * calls, start=1, most=2)
    work.run(1.0)
    chosen = work.meter.chosen["calls at once"]
    assert chosen.value == 1
    assert chosen.why == "trying 2 gained nothing"


def test_given_two_ops_of_a_run_then_one_tries_at_a_time() -> None:
    turn = Turn()
    first, second = Depth(turn, Meter(), 2), Depth(turn, Meter(), 2)
    assert turn.take(first)
    assert not turn.take(second)
    turn.give(second)
    assert not turn.take(second), "it is not the second's to give"
    turn.give(first)
    assert turn.take(second)


def test_when_the_best_number_is_known_then_it_stays_there() -> None:
    work = Work(waiting)
    work.run(0.25)
    work.calls.fix(5, "because")
    work.calls.fix(6, "it is known already")
    assert work.run(3.0) == 5
    assert work.meter.chosen["calls at once"].why == "because"


def test_the_most_calls_grow_with_the_cores() -> None:
    assert [most_calls(cores) for cores in (1, 16, 64)] == [64, 64, 256]


def waits(turn: Turn, share: float, looks: int = 4) -> None:
    """The loop waits for that share of its time, and has done so for some time."""
    turn.waits = share
    turn.looks += looks


def test_given_a_loop_that_waits_as_much_with_more_ready_then_no_more_are_kept() -> None:
    meter, turn = Meter(), Turn()
    depth = Depth(turn, meter, 1)

    def used_up() -> int:
        depth.full()
        depth.empty(100)
        return depth.blocks

    turn.waits = 0.3
    assert used_up() == 1, "nobody knows yet how much it waits"
    waits(turn, 0.3)
    assert used_up() == 2
    waits(turn, 0.3, looks=1)
    assert used_up() == 2, "it is too early to tell"
    waits(turn, 0.3)
    assert used_up() == 1
    assert meter.chosen["blocks ready"].why == "twice as many gained nothing"
    waits(turn, 0.3)
    assert used_up() == 1, "it was tried a moment ago"
    waits(turn, 0.3, looks=20)
    assert used_up() == 2, "it may have become another matter"
    waits(turn, 0.1)
    assert used_up() == 4, "that has helped"
    waits(turn, 0.0)
    while depth.blocks > 1:
        depth.full()
    waits(turn, 0.3)
    assert used_up() == 2, "and what helped once is no measure of what comes later"


def test_given_a_queue_that_was_full_when_it_is_found_empty_then_twice_as_much_is_kept_ready() -> None:
    meter = Meter()
    turn = Turn()
    waits(turn, 0.5)
    depth = Depth(turn, meter, 2)
    depth.empty(100)
    assert depth.blocks == 2, "it never was full: more would not help"
    depth.full()
    depth.empty(100)
    depth.empty(100)
    assert depth.blocks == 4
    waits(turn, 0.3)
    depth.full()
    depth.empty(7)
    assert depth.blocks == 4, "the budget has no room for eight"
    depth.full()
    depth.empty(8)
    depth.full()
    waits(turn, 0.0)
    depth.empty(100)
    assert depth.blocks == 8, "the loop does not wait: more would only take memory"
    chosen = meter.chosen["blocks ready"]
    assert (chosen.value, chosen.why) == (8, "all that were ready have been used up 2 times")


def test_given_a_queue_that_stays_full_while_the_loop_hardly_waits_then_it_shrinks_ever_more_slowly() -> None:
    turn = Turn()
    depth = Depth(turn, Meter(), 1)

    def grow() -> None:
        waits(turn, 0.5)
        depth.full()
        depth.empty(100)
        waits(turn, 0.0)

    def until_smaller() -> int:
        before, times = depth.blocks, 0
        while depth.blocks == before:
            depth.full()
            times += 1
        return times

    grow()
    first = until_smaller()
    assert depth.blocks == 1
    for _ in range(1000):
        depth.full()
    assert depth.blocks == 1, "and no smaller than at first"
    grow()
    assert until_smaller() == 2 * first


def test_when_who_has_the_turn_is_gone_then_it_is_free() -> None:
    turn = Turn()
    first = Depth(turn, Meter(), 2)
    assert turn.take(first)
    second = Depth(turn, Meter(), 2)
    assert not turn.take(second)
    del first
    assert turn.take(second)
