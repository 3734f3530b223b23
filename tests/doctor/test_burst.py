"""Watching the lines of a loop for a few rounds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from penstock.doctor.burst import DEAREST, Burst
from penstock.doctor.places import Places

KEPT: list[int] = []


def length(_: FrameType) -> float:
    return float(len(KEPT))


def following(rounds: int) -> Burst:
    """A burst that begins in the inner one of two loops, and what it has seen when the outer one ends."""
    places, ended = Places(__file__), list[Burst]()
    burst: Burst | None = None
    for step in range(rounds):
        for _ in range(2):
            if burst is None:
                frame = sys._getframe()
                burst = Burst(places, places.loops(frame), {"kept": length}, {}, ended.append)
                burst.start(frame)
        KEPT.append(step)  # the line
        if ended:
            break
    assert burst is not None
    if not ended:
        burst.stop()
    return burst


def test_given_an_inner_loop_that_ends_then_the_outer_one_is_followed() -> None:
    burst = following(60)
    line = following.__code__.co_firstlineno + 10
    (place,) = burst.grew["kept"]
    assert (place.file, place.line) == (__file__, line)
    assert len(burst.grew["kept"][place]) > 8
    assert burst.rounds > 8


def alone(places: Places, ended: list[Burst]) -> int:
    for _ in range(1):
        frame = sys._getframe()
        burst = Burst(places, places.loops(frame), {}, {}, ended.append)
        burst.start(frame)
    lines = 0
    lines += 1
    lines += 1
    return lines


def test_given_a_loop_that_is_over_then_so_is_the_burst() -> None:
    ended = list[Burst]()
    alone(Places(__file__), ended)
    assert len(ended) == 1
    assert sys.gettrace() is None
    (burst,) = ended
    assert max(place.line for place in burst.ran) <= alone.__code__.co_firstlineno + 5


def test_given_calls_of_a_library_without_end_then_they_are_counted_and_it_is_late() -> None:
    ended = list[Burst]()
    burst = Burst(Places("elsewhere.py"), [], {}, {}, ended.append)
    burst.start(None)
    try:
        for _ in range(1000):
            Places.is_user(burst.places, "<string>")
        few = burst.cost
        assert 0 < few < DEAREST
        assert not burst.late
        for _ in range(200_000):
            Places.is_user(burst.places, "<string>")
        assert burst.late
    finally:
        burst.stop()


def test_given_a_look_that_fails_then_the_script_goes_on_and_so_do_the_others() -> None:
    def fails(_: FrameType) -> float:
        raise KeyError(1)  # what it looked for is something else by now

    places, ended, seen = Places(__file__), list[Burst](), list[int]()
    burst = Burst(places, places.loops(sys._getframe()), {"bad": fails, "kept": length}, {}, ended.append)
    burst.start(sys._getframe())
    for step in range(20):
        KEPT.append(step)
        seen.append(step)
    burst.stop()
    assert seen == list(range(20))
    assert not burst.grew["bad"]


def around(rounds: int, burst: list[Burst], ended: list[Burst], passed: list[int]) -> None:
    for _ in range(rounds):
        for inner in range(50):
            if not burst:
                frame, places = sys._getframe(), Places(__file__)
                (outer, within) = places.loops(frame)
                meanwhile = lambda at: passed.append(at.f_lineno)  # noqa: E731
                one = Burst(places, [outer], {"kept": length}, {}, ended.append, (frame, within), meanwhile)
                burst.append(one)
                one.start(frame)
            KEPT.append(inner)  # inside
            twice(inner)
        KEPT.append(0)  # outside
        if ended:
            break


def twice(value: int) -> int:
    return 2 * value


def test_given_an_inner_loop_that_is_passed_over_then_only_what_is_around_it_is_followed() -> None:
    burst, ended, passed = list[Burst](), list[Burst](), list[int]()
    around(20, burst, ended, passed)
    start = around.__code__.co_firstlineno
    assert ended == burst
    assert sys.gettrace() is None
    places = burst[0].grew["kept"]
    inside, outside = (sum(len(places[p]) for p in places if p.line == start + n) for n in (10, 12))
    assert outside >= 2
    assert {gain for gained in places.values() for gain in gained} == {1.0}  # not what was added meanwhile
    assert inside < 10  # the loop is followed for a few rounds when it comes again
    assert passed and set(passed) <= set(range(start + 2, start + 12))
    assert burst[0].rounds >= 2
    assert burst[0].seconds > 0


def long_one() -> int:
    total = 0
    for number in range(10_000):
        total += number
    return total


def called_by_a_library() -> int:
    return sum(map(twice, range(10_000)))


@pytest.mark.parametrize("work, function, line", [(long_one, long_one, 3), (called_by_a_library, twice, 1)])
def test_given_what_is_gone_through_again_and_again_then_it_is_followed_for_a_while(
    work: Callable[[], int], function: Callable[..., int], line: int
) -> None:
    places, ended = Places(__file__), list[Burst]()
    burst: Burst | None = None
    for _ in range(3):
        if burst is None:
            frame = sys._getframe()
            burst = Burst(places, places.loops(frame), {"kept": length}, {}, ended.append)
            burst.start(frame)
        work()
        KEPT.append(1)
    assert burst is not None
    if not ended:
        burst.stop()
    number = function.__code__.co_firstlineno + line
    assert 0 < sum(count for place, count in burst.ran.items() if place.line == number) < 10_000
    assert sum(len(gained) for gained in burst.grew["kept"].values()) >= 2


def three_deep(burst: list[Burst], ended: list[Burst]) -> None:
    for _ in range(40):
        for _ in range(20):
            for _ in range(20):
                if not burst:
                    frame, places = sys._getframe(), Places(__file__)
                    (*around_it, within) = places.loops(frame)
                    one = Burst(places, around_it, {"kept": length}, {}, ended.append, (frame, within))
                    burst.append(one)
                    one.start(frame)
        KEPT.append(0)
        if ended:
            break


def test_given_a_loop_around_it_that_goes_on_then_the_one_around_that_is_followed() -> None:
    burst, ended = list[Burst](), list[Burst]()
    three_deep(burst, ended)
    assert ended == burst
    ((place, gained),) = burst[0].grew["kept"].items()
    assert place.line == three_deep.__code__.co_firstlineno + 10
    assert len(gained) >= 2


def test_given_nothing_but_a_function_that_a_library_calls_then_it_is_followed_until_it_is_over() -> None:
    ended = list[Burst]()
    burst = Burst(Places(__file__), [], {"kept": length}, {}, ended.append)
    burst.start(None)
    try:
        sum(map(twice, range(100_000)))
        assert ended == [burst]
    finally:
        sys.settrace(None)
