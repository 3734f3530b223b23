"""A loop that is not in the user's code."""

from __future__ import annotations

import sys
from functools import reduce

from penstock.doctor.places import Places
from penstock.doctor.repeats import TIMES, Repeats


def seen_in(repeats: Repeats, places: Places, found: list[str | None]) -> None:
    frame = sys._getframe()
    repeats.see(frame)
    found.append(repeats.at_work(places.stack(frame)))


def test_given_map_then_the_line_that_calls_it_is_the_loop() -> None:
    places, found = Places(__file__), list[str | None]()
    repeats = Repeats(places)

    def look(_: int) -> None:
        seen_in(repeats, places, found)

    line = sys._getframe().f_lineno + 1
    list(map(look, range(10)))
    assert found[0] is None
    assert found[TIMES:] == [f"{__file__}:{line}"] * (10 - TIMES)


def test_given_a_library_that_calls_back_then_the_line_that_calls_it_is_the_loop() -> None:
    places, found = Places(__file__), list[str | None]()
    repeats = Repeats(places)

    def step(total: int, one: int) -> int:
        seen_in(repeats, places, found)
        return total + one

    assert reduce(step, range(10)) == 45
    assert found[-1] is not None


def test_given_calls_one_after_another_then_there_is_no_loop() -> None:
    places, found = Places(__file__), list[str | None]()
    repeats = Repeats(places)
    seen_in(repeats, places, found)
    seen_in(repeats, places, found)
    seen_in(repeats, places, found)
    seen_in(repeats, places, found)
    seen_in(repeats, places, found)
    assert found == [None] * 5


def test_when_it_is_to_forget_then_no_frame_is_kept() -> None:
    places = Places(__file__)
    repeats = Repeats(places)
    repeats.see(sys._getframe())
    repeats.forget()
    assert repeats._last == []
