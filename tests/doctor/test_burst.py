"""Watching the lines of a loop for a few rounds."""

from __future__ import annotations

import sys
from types import FrameType

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
