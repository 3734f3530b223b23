"""What a container is called where another thread makes it longer."""

from __future__ import annotations

import threading
from queue import Queue
from types import SimpleNamespace
from typing import Any

from penstock.doctor.accuse import _elsewhere
from penstock.doctor.aliases import aliases
from penstock.doctor.book import Book
from penstock.doctor.paths import Described, Paths
from penstock.doctor.places import Place, Places
from penstock.doctor.probes import Evidence


class Producer(threading.Thread):
    """Puts something into a queue that others call otherwise."""

    def __init__(self, out: Queue[int]) -> None:
        super().__init__(daemon=True)
        self.out = out
        self.begun, self.over = threading.Event(), threading.Event()

    def run(self) -> None:
        """Until it is told to stop."""
        target = self.out
        target.put(1)
        self.begun.set()
        self.over.wait()


def test_given_another_thread_at_work_then_its_names_are_known_and_not_those_of_this_one() -> None:
    batches: Queue[int] = Queue()
    producer = Producer(batches)
    producer.start()
    producer.begun.wait()
    places = Places(__file__)
    found = set(aliases(places, {id(batches): "length 1"}))
    producer.over.set()
    producer.join()
    assert found == {("length 1", (__file__, name)) for name in ("out", "target")}
    assert set(aliases(places, {id(batches): "length 1"})) == set()


def test_given_a_line_of_another_thread_then_it_is_the_one_that_makes_it_longer() -> None:
    places = Places(__file__)
    paths = Paths(places, Book())
    paths.world.threads = True
    watching: Any = SimpleNamespace(places=places, paths=paths, evidence=Evidence(places, paths))
    way = ("batches", ".queue")
    one = Described("batches.queue", way, "", __file__, "deque", "members", False, False, ("Queue", "deque"))
    here = Place(__file__, 3)
    assert _elsewhere(watching, one, here) == here
    one.aliases.add((__file__, "target"))
    assert _elsewhere(watching, one, here).line == Producer.run.__code__.co_firstlineno + 3
