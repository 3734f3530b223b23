"""Where no line of an inner loop is seen to do it, what is around the loop is looked at."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from types import FrameType

import pytest

from penstock.doctor.book import Book
from penstock.doctor.bursts import Rounds
from penstock.doctor.paths import Paths
from penstock.doctor.places import Loop, Place, Places
from penstock.doctor.probes import Evidence
from penstock.doctor.signals import Signal, signals
from penstock.doctor.trap import Trap
from penstock.doctor.watching import inner_of

LINE = Place("train.py", 7)
THREADS, HEAP = "process.threads", "memory.heap"


def rising(key: str, each: float) -> Book:
    book = Book()
    for moment in range(60):
        book.open(float(moment), "train.py:3", {})
        book.put(key, each * moment)
        book.close()
    return book


def evidence(*bursts: Rounds) -> Evidence:
    places = Places(__file__)
    found = Evidence(places, Paths(places, Book()))
    found.bursts.extend(bursts)
    return found


def burst(key: str, gained: float, around: bool = False) -> Rounds:
    grew = {key: {LINE: [gained]} if gained else {}}
    return Rounds(grew, {}, Counter({LINE: 8}), 8, 0.0, seconds=0.1, around=around)


@pytest.fixture
def known() -> list[Signal]:
    return signals()


def test_given_lines_that_were_seen_to_do_it_then_the_inner_loop_is_followed(known: list[Signal]) -> None:
    assert evidence(burst(THREADS, 1.0)).hidden(rising(THREADS, 1.0), known) is False


def test_given_none_then_every_second_time_the_inner_loop_is_passed_over(known: list[Signal]) -> None:
    book, none = rising(THREADS, 1.0), burst(THREADS, 0.0)
    assert not evidence().hidden(book, known)
    assert evidence(none).hidden(book, known)
    aside = burst(THREADS, 0.0, around=True)
    assert not evidence(none, aside).hidden(book, known)
    assert evidence(none, aside, none).hidden(book, known)


def test_given_memory_then_lines_must_have_added_a_part_of_what_it_grows_by(known: list[Signal]) -> None:
    book = rising(HEAP, 10e6)
    assert not evidence(burst(HEAP, 1e6)).hidden(book, known)
    assert evidence(burst(HEAP, 1e4)).hidden(book, known)


def test_given_one_that_passed_a_loop_over_then_the_only_other_one_counts_too() -> None:
    first, around, later = burst(HEAP, 1.0), burst(HEAP, 2.0, around=True), burst(HEAP, 4.0)
    assert evidence(first, around).lines(HEAP) == {LINE: [1.0, 2.0]}
    assert evidence(first, around, later).lines(HEAP) == {LINE: [2.0, 4.0]}


def test_given_a_call_that_takes_long_then_it_is_at_its_line_and_not_at_the_one_after_it() -> None:
    seen, places = list[tuple[Place | None, int]](), Places(__file__)

    def reached(frame: FrameType) -> None:
        seen.append((trap.at, frame.f_lineno))

    trap = Trap(places, reached)
    called = set_in_a_call(trap)
    ((place, line),) = seen
    assert place == Place(__file__, called)
    assert line == called + 1
    assert trap.at is None


def set_in_a_call(trap: Trap) -> int:
    trap.set(sys._getframe())
    line = sys._getframe().f_lineno
    return line - 1


def rows() -> Iterator[FrameType]:
    for _ in range(3):
        yield sys._getframe()


def test_given_a_generator_at_work_then_the_loop_that_asks_it_is_the_inner_one() -> None:
    loop = Loop("train.py", 3, 9, 0, ())
    mine, asked = (sys._getframe(), loop), (next(rows()), loop)
    assert inner_of([mine, mine, asked]) == 1
    assert inner_of([mine, mine]) == 1
    assert inner_of([mine, asked]) == inner_of([mine]) == inner_of([]) == 0
