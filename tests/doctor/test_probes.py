"""Who is asked after, while the script runs: it takes a while, and is for what matters."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.doctor.book import Book
from penstock.doctor.bursts import Rounds
from penstock.doctor.linked import LINKS, Kept, linked_names
from penstock.doctor.paths import Paths
from penstock.doctor.places import Place, Places
from penstock.doctor.probes import Evidence
from penstock.doctor.referrers import Chain
from penstock.doctor.rising import least_of, rising
from penstock.doctor.signals import Look
from penstock.doctor.source import growing_lines
from penstock.doctor.walk import World


class Part:
    """Something of the user's."""


NAME = f"{Part.__module__}.{Part.__qualname__}"


def grown(name: str, each: int) -> Book:
    book = Book()
    for number in range(40):
        book.open(float(number), "loop", {})
        book.follow_types({name: 1000 + each * number})
        book.close()
    return book


@pytest.mark.parametrize(
    ("name", "each", "asked"),
    [
        ("train.Part", 1, True),
        ("builtins.list", 1, False),
        ("builtins.function", 1, True),
        ("builtins.module", 1, True),
        ("collections.deque", 1, False),
        ("weakref.ReferenceType", 1, False),
        ("array.array", 1, False),
        ("weakref.finalize._Info", 1, True),
        ("builtins.list", 50, True),
        ("penstock.doctor.places.Place", 50, False),
    ],
)
def test_given_types_that_grow_then_those_are_asked_after_that_matter(
    name: str, each: int, asked: bool
) -> None:
    assert (f"type {name}" in rising(grown(name, each), [])) == asked


def test_given_a_length_or_a_buffer_then_its_name_is_no_type() -> None:
    assert least_of("length builtins.") == least_of("length 7") < least_of("buffer 7")


@pytest.mark.parametrize("grows", [True, False])
def test_when_it_is_asked_who_keeps_them_then_it_is_said_whether_all_was_thawed(grows: bool) -> None:
    book, kept = grown(NAME, 5 if grows else 0), [Part()]
    places = Places(__file__)
    evidence = Evidence(places, Paths(places, book))
    look = Look([kept[-1]], Counter({NAME: 1200}))
    assert not evidence.question(book, look, [], thaw=False)
    assert evidence.types == {}
    assert evidence.question(book, look, [], thaw=True) == grows
    assert list(evidence.types) == [f"type {NAME}"] * grows
    assert not evidence.question(book, look, [], thaw=True)  # it is known by now
    assert sys.getrefcount(kept[-1]) <= 4


def test_given_the_chain_of_an_object_then_those_on_the_way_to_it_are_kept_by_the_same() -> None:
    places = Places(__file__)
    evidence = Evidence(places, Paths(places, Book()))
    evidence.types["type logging.Style"] = Kept("python-objects", ("`log`", "Handler", "Formatter", "Style"))
    assert evidence.within("type logging.Handler") == ("`log`", "Handler")
    assert evidence.within("type logging.Filter") == ()


def test_given_setattr_then_it_makes_the_object_longer(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("def log(self, name, value):\n    setattr(self.run, name, value)\n")
    places = Places(str(file))
    assert [place.line for place in growing_lines(places, str(file), "run")] == [2]
    assert growing_lines(places, str(file), "value") == []


def test_given_a_container_that_no_walk_comes_to_then_it_is_looked_at_once_it_is_known_to_keep_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places, handlers = Places("elsewhere.py"), [Part()]
    paths = Paths(places, grown(NAME, 5))
    evidence = Evidence(places, paths)
    found = Chain(("`logging.handlers`", "Part"), holder=handlers)
    monkeypatch.setattr("penstock.doctor.probes.chain_of", lambda *_: found)
    assert evidence.question(paths.book, Look([Part()], Counter({NAME: 1200})), [], thaw=True)
    assert [node.path() for node in paths.world.roots() if node.thing is handlers][:1] == ["logging.handlers"]
    assert evidence.soon


class Link:
    """Something that has the one before."""

    def __init__(self, before: Link | None) -> None:
        self.before = before


def test_given_things_of_which_each_has_the_next_then_the_name_of_the_last_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(World, "user_modules", lambda _: [])  # other tests leave too much to walk through
    head: Link | None = None
    for _ in range(2 * LINKS):
        head = Link(head)
    kind = f"{__name__}.Link"
    known = linked_names(World(Places(__file__)), {kind})[f"type {kind}"]
    assert (known.name, known.file) == ("head", __file__)
    head = Link(None)
    assert linked_names(World(Places(__file__)), {kind}) == {}


def timed(step: Callable[[int], int]) -> Callable[[int], int]:
    def run(value: int) -> int:
        return step(value)

    return run


def test_given_a_function_that_is_wrapped_again_and_again_then_its_name_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(World, "user_modules", lambda _: [])
    forward: Callable[[int], int] = abs
    for _ in range(LINKS // 2):
        forward = timed(forward)
    assert linked_names(World(Places(__file__)), {"builtins.function"}) == {}
    for _ in range(LINKS):
        forward = timed(forward)
    known = linked_names(World(Places(__file__)), {"builtins.function"})["type builtins.function"]
    assert (known.name, known.file) == ("forward", __file__)


def test_given_bursts_of_other_loops_then_they_say_nothing_of_this_one() -> None:
    places = Places(__file__)
    evidence = Evidence(places, Paths(places, Book()))
    site = Place("train.py", 3)
    for at in (1.0, 7.0):
        evidence.bursts.append(Rounds({}, {"type": Counter([site])}, Counter(), 4, at))
    assert evidence.sites("type") == {site: 2}
    evidence.focus = (5.0, 9.0)
    assert (evidence.sites("type"), evidence.rounds()) == ({site: 1}, 4)
    evidence.focus = (2.0, 5.0)
    assert evidence.sites("type") == {}
