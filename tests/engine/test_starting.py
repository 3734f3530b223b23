"""How workers and their server come and go: what is done meanwhile, and what waits."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import penstock as ps
from engine.leftovers import children, descriptors
from penstock.engine.processes import lost, server_link
from penstock.engine.processes import serving as serving_module
from penstock.engine.processes.lingering import Lingering
from penstock.engine.processes.link import Link
from penstock.engine.processes.lost import WorkerLost
from penstock.engine.processes.server_link import Server
from penstock.engine.processes.serving import Serving, serving
from penstock.engine.processes.slab import STEP, Slab
from penstock.engine.processes.slab_room import SlabRoom
from penstock.engine.processes.starting import Functions
from penstock.engine.processes.wire import Hangup, readable
from penstock.engine.roster import Roster

pytestmark = pytest.mark.usefixtures("one_server")

SOON, NEVER = 1e-3, 1e6


@pytest.fixture
def ended() -> threading.Event:
    return threading.Event()


@pytest.fixture
def lingering(ended: threading.Event) -> Iterator[Lingering]:
    made = Lingering(ended.set)
    yield made
    if (thread := made.thread) is not None:
        made.begin(0)
        thread.join(60)
        assert not thread.is_alive()


def test_what_lingers_ends_after_its_time(lingering: Lingering, ended: threading.Event) -> None:
    lingering.begin(SOON)
    assert ended.wait(60)


def test_what_is_stopped_does_not_end(lingering: Lingering, ended: threading.Event) -> None:
    lingering.begin(0.02)
    thread = lingering.thread
    lingering.stop()
    assert thread is not None
    thread.join(60)
    assert not thread.is_alive() and not ended.is_set()
    lingering.begin(SOON)
    assert ended.wait(60)


def test_what_begins_again_has_the_same_thread_and_its_time_anew(
    lingering: Lingering, ended: threading.Event
) -> None:
    lingering.begin(0.02)
    thread = lingering.thread
    lingering.stop()
    lingering.begin(NEVER)
    assert lingering.thread is thread and thread is not None
    thread.join(0.1)
    assert thread.is_alive() and not ended.is_set()


def test_what_begins_again_for_less_ends_the_sooner(lingering: Lingering, ended: threading.Event) -> None:
    lingering.begin(NEVER)
    thread = lingering.thread
    assert thread is not None
    thread.join(0.02)
    lingering.begin(SOON)
    assert ended.wait(60)


def in_workers(function: Any) -> ps.Dataset:
    return ps.Dataset.range(40).map(function, num_parallel_calls=2, executor="processes")


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Link]]:
    """The workers that were told to load a function, and the threads that have told them."""
    found: list[tuple[str, Link]] = []
    begin = Functions.begin

    def watched(self: Functions, *arguments: Any, **named: Any) -> list[Link]:
        links = begin(self, *arguments, **named)
        found.extend((threading.current_thread().name, link) for link in links)
        return links

    monkeypatch.setattr(Functions, "begin", watched)
    return found


def test_given_a_server_then_workers_load_the_function_before_there_are_threads_for_them(
    begun: list[tuple[str, Link]],
) -> None:
    ds = in_workers(lambda x: x + 1)
    for _ in range(2):
        begun.clear()
        assert [int(x) for x in ds] == list(range(1, 41))
    assert [name for name, _ in begun[:2]] == [threading.current_thread().name] * 2


def test_given_workers_that_die_while_they_load_then_others_take_their_place(
    begun: list[tuple[str, Link]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ds = in_workers(lambda x: x + 1)
    assert len(list(ds)) == 40
    begun.clear()
    look = Link.look

    def killed(self: Link) -> None:
        look(self)
        if len(begun) < 2:
            self.kill()

    monkeypatch.setattr(Link, "look", killed)
    assert [int(x) for x in ds] == list(range(1, 41))
    assert len(begun) > 2


def test_given_one_that_cannot_be_told_then_those_that_were_begun_with_it_are_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ds = in_workers(lambda x: x + 1)
    assert len(list(ds)) == 40
    look, looks = Link.look, iter(range(1000))

    def refused(self: Link) -> None:
        if next(looks) == 1:
            raise WorkerLost("it was killed", 0)
        look(self)

    monkeypatch.setattr(Link, "look", refused)
    with ds.iterate() as it:
        assert [int(next(it)) for _ in range(39)] == list(range(1, 40))
        staff = it._run.root._running._roster.executor._workers._staff  # type: ignore[attr-defined]
        assert next(looks) > 2 and len(staff._links) <= 2


def test_given_workers_that_are_forked_at_once_then_none_keeps_what_tells_of_the_others_end() -> None:
    server = serving.server()
    server.load([], lambda: False)
    forked = server.fork(lambda: False, 2)
    try:
        told = {Path(f"/proc/self/fd/{each.status}").readlink() for each in forked}
        assert len(told) == 2
        for each in forked:
            each.link.sendall(b"x")  # it reads what it is sent once it has closed what it need not have
            while fcntl.ioctl(each.link, termios.TIOCOUTQ, bytes(4)) != bytes(4):
                assert not select.select([each.ended], [], [], 0.001)[0]
            assert told.isdisjoint(path.readlink() for path in Path(f"/proc/{each.pid}/fd").iterdir())
    finally:
        for each in forked:
            each.link.close()
            os.close(each.status)
            os.close(each.ended)


def test_given_workers_that_cannot_be_told_then_threads_find_out_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(self: Link) -> None:
        raise WorkerLost("it was killed", 0)

    ds = in_workers(lambda x: x + 1)
    assert len(list(ds)) == 40
    before = children()
    monkeypatch.setattr(Link, "look", refused)
    with pytest.raises(ps.errors.PenstockError, match="no worker process could be started: it was killed"):
        list(ds)
    assert children() == before


def test_workers_that_are_started_together_look_once_who_was_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(range(1, 10))
    monkeypatch.setattr(lost, "memory_kills", lambda: next(looks))
    monkeypatch.setattr(lost, "RECENT", NEVER)
    kills = lost._Kills()
    assert [kills.recently(), kills.recently()] == [1, 1]
    assert [kills.now(), kills.recently()] == [2, 2]
    monkeypatch.setattr(lost, "RECENT", 0.0)
    assert kills.recently() == 3


def test_workers_draw_numbers_of_their_own() -> None:
    ds = in_workers(lambda x: np.random.randint(0, 1 << 62))
    assert len({int(number) for _ in range(2) for number in ds}) == 80


@pytest.mark.parametrize(("workers", "count"), [(1, 0), (1, 1), (2, 3)])
def test_given_a_worker_whose_descriptors_find_no_place_then_that_is_said_and_none_is_left(
    monkeypatch: pytest.MonkeyPatch, workers: int, count: int
) -> None:
    before = descriptors()
    received = [os.dup(0) for _ in range(count)]
    monkeypatch.setattr(Server, "_ask", lambda *_: ((1, 2)[:workers], received))
    with pytest.raises(OSError, match="Too many open files"):
        Server.fork(Server.__new__(Server), lambda: False, workers)
    assert descriptors() <= before


@pytest.mark.parametrize(("cores", "spare"), [(2, 0), (3, 0), (4, 1), (16, 4)])
def test_on_few_cores_no_worker_more_than_these_is_started(cores: int, spare: int) -> None:
    one: Any = SimpleNamespace(_cores=cores, _spare=0)
    Roster.add_spare(one)
    assert one._spare == spare


def test_given_no_descriptor_for_a_second_slab_then_the_room_for_it_is_given_back() -> None:
    def refused(_: int) -> Slab:
        raise OSError("Too many open files")

    released: list[int] = []
    link: Any = SimpleNamespace(given=None, made=None, untold=refused)
    room: Any = SimpleNamespace(reserve=lambda _: True, release=released.append)
    with pytest.raises(OSError, match="Too many"):
        SlabRoom.furnish(room, link)
    assert released == [STEP] and link.given.size == STEP
    link.given.close()


def test_what_is_said_of_lost_workers_takes_the_place_of_nothing_else() -> None:
    notes = ["called in worker processes"]
    meter: Any = SimpleNamespace(notes=notes)
    losses = lost.Losses(meter, "map", "map")
    losses.say(WorkerLost("it was killed", 0), None, np.arange(2))
    notes[:] = [notes[1], "called in threads"]
    losses.say(WorkerLost("it was killed", 0), None, np.arange(2))
    assert [note.partition(" ")[0] for note in notes] == ["2", "called"]


def test_given_a_thread_between_two_looks_at_a_server_that_is_ended_then_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks, goes_on = threading.Event(), threading.Event()
    told: list[type[Exception]] = []

    def look(descriptor: int, seconds: float) -> bool:
        if looks.is_set():
            return readable(descriptor, seconds)
        looks.set()
        assert goes_on.wait(60)
        return False

    def ask() -> None:
        try:
            server.fork(lambda: False)
        except Exception as error:
            told.append(type(error))

    server = Server()
    server.load(["json"], lambda: False)
    monkeypatch.setattr(server_link, "readable", look)
    os.kill(server._process.pid, signal.SIGSTOP)  # it does not answer
    asking, ending = threading.Thread(target=ask), threading.Thread(target=server.end)
    asking.start()
    assert looks.wait(60)
    os.kill(server._process.pid, signal.SIGKILL)
    ending.start()
    ending.join(0.1)  # it waits for who looks at the server
    goes_on.set()
    asking.join(60)
    ending.join(60)
    assert told == [Hangup]
    assert server._control.fileno() == -1


def test_given_a_function_that_cannot_go_to_workers_then_nobody_is_counted_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lock = threading.Lock()  # cannot be pickled
    asked: list[int] = []
    server = Serving.server

    def starts(self: Serving) -> Server:
        asked.append(self._users)
        return server(self)

    monkeypatch.setattr(Serving, "server", starts)
    before = serving._users
    ds = ps.Dataset.range(4).map(lambda x: (x, lock.locked())[0], executor="processes")
    with pytest.raises(ps.errors.PenstockError, match="cannot be brought into a worker process"):
        list(ds)
    assert asked == [before + 1], "it starts before that is known"
    assert serving._users == before


@pytest.mark.parametrize("asked", [False, True], ids=["for nobody", "for somebody"])
def test_a_server_that_nobody_has_asked_for_anything_does_not_stay(
    asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_module, "LINGER", NEVER)
    own = Serving()
    with own.starting():
        server = own.server()
        if asked:
            server.load((), lambda: False)
    assert server.alive is asked
    assert server._process.returncode == (None if asked else -signal.SIGKILL), "nobody waits for it to start"
    own.at_exit()
    assert not server.alive
    own._lingering.begin(0)  # its thread would wait for ever
    if (thread := own._lingering.thread) is not None:
        thread.join(60)
        assert not thread.is_alive()


def test_given_a_run_that_has_ended_then_no_server_is_started_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ds = in_workers(lambda x: x + 1)
    with ds.iterate() as it:
        next(it)
        functions = it._run.root._running._roster.executor._workers._functions  # type: ignore[attr-defined]
        monkeypatch.setattr(Serving, "server", lambda _: pytest.fail("a server was asked for"))
        with pytest.raises(Hangup, match="closed"):
            functions.start(lambda: True)
