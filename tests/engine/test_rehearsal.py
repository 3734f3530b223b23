"""Workers that nobody has yet do once what their first call will do, and leave nothing of it."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.leftovers import descriptors
from penstock.engine.processes import rehearsal, server, worker
from penstock.engine.processes.rehearsal import rehearse
from penstock.engine.processes.server import Server
from penstock.engine.processes.wire import Hangup
from penstock.engine.processes.worker import Worker


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the workers of this process answer."""
    found: list[Any] = []
    sent = worker.send

    def send(link: socket.socket, message: Any, *rest: Any, **how: Any) -> None:
        found.append(message)
        sent(link, message, *rest, **how)

    monkeypatch.setattr(worker, "send", send)
    return found


def test_when_nobody_asks_then_a_call_is_made_and_nothing_is_left(answers: list[Any]) -> None:
    ours, theirs = socket.socketpair()
    before, around = descriptors(), (Path.cwd(), dict(os.environ), np.random.get_state()[1].tolist())
    with ours, theirs:
        rehearse(theirs)
        assert descriptors() <= before
    assert around == (Path.cwd(), dict(os.environ), np.random.get_state()[1].tolist())
    ready, done = answers
    assert ready == ("ready",)
    used, made, failed, raised = done[1:5]
    assert (done[0], used, failed, raised) == ("done", 2, None, None)
    assert made.packed.rows == 2


def test_given_an_environment_larger_than_a_socket_holds_then_it_does_not_wait_for_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = socket.socketpair()
    for i in range(8):
        monkeypatch.setenv(f"PENSTOCK_TEST_{i}", "x" * 100_000)
    before = descriptors()

    def rehearsed() -> None:
        with suppress(Hangup):
            rehearse(theirs)

    with ours, theirs:
        thread = threading.Thread(target=rehearsed, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        assert descriptors() <= before


def test_when_somebody_asks_then_it_stops(monkeypatch: pytest.MonkeyPatch, answers: list[Any]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        answer = Worker.answer

        def asked_meanwhile(one: Worker) -> None:
            answer(one)
            ours.send(b"a request")

        monkeypatch.setattr(Worker, "answer", asked_meanwhile)
        before = descriptors()
        rehearse(theirs)
        assert descriptors() <= before
        assert theirs.recv(100) == b"a request", "it is left for whom it is for"
    assert answers == [("ready",)]


@pytest.mark.parametrize("waited_for", [False, True])
def test_who_is_waited_for_does_not_rehearse(monkeypatch: pytest.MonkeyPatch, waited_for: bool) -> None:
    did = []
    monkeypatch.setattr(server, "rehearse", lambda _: did.append("rehearse"))
    monkeypatch.setattr(worker, "work", lambda _: did.append("work"))
    monkeypatch.setattr(os, "_exit", lambda code: did.append(code))
    control, ours, theirs = socket.socket(), *socket.socketpair()
    parent = os.open("/dev/null", os.O_RDONLY)
    one: Any = SimpleNamespace(_control=control, _parent=parent, _workers={}, _spares=[], _prctl=lambda *_: 0)
    with theirs:
        Server._become_worker(one, ours, theirs, waited_for=waited_for)
    assert did == [*([] if waited_for else ["rehearse"]), "work", 0]


@pytest.mark.parametrize("failure", [OSError("too many open files"), ValueError("whatever it is")])
def test_where_it_cannot_be_done_then_the_worker_is_there_all_the_same(
    failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more(*_: Any) -> Any:
        raise failure

    did = []
    monkeypatch.setattr(rehearsal.os, "memfd_create", no_more)
    monkeypatch.setattr(worker, "work", lambda _: did.append("work"))
    monkeypatch.setattr(os, "_exit", lambda code: did.append(code))
    control, ours, theirs = socket.socket(), *socket.socketpair()
    parent = os.open("/dev/null", os.O_RDONLY)
    one: Any = SimpleNamespace(_control=control, _parent=parent, _workers={}, _spares=[], _prctl=lambda *_: 0)
    with theirs:
        Server._become_worker(one, ours, theirs, waited_for=False)
    assert did == ["work", 0]
