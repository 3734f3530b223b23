"""Small messages over a unix socket, with descriptors; both sides use it."""

from __future__ import annotations

import os
import pickle
import select
import socket
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

_HEAD = struct.Struct("=IB")
"""Before each message: its length, and how many descriptors come with it."""
STATUS = struct.Struct("=i")
"""How the end of a worker is told: its status, as `os.waitpid` gives it."""
THREADED = frozenset({"jax", "jaxlib", "ray", "tensorflow"})
"""Packages that start threads of their own when they are imported."""
THREADS = 1 << 16
"""Told in place of an error's number: the server forks no more, as it has threads."""
_ONE_GO = 64 << 10


class How(NamedTuple):
    """How a worker is to call the functions."""

    room: int
    """The bytes that results may take."""
    place: int
    """That of the first row in the op's stream."""
    row_by_row: bool
    row_bytes: int
    """What a row takes, intermediate results included; 0 if nobody knows yet."""


class Found(NamedTuple):
    """What a worker has found out about functions that it calls over whole blocks."""

    row_bytes: int = 0
    why: str = ""
    """Why they are to be called row by row after all; empty if they are not."""


class Unreadable(NamedTuple):
    """That a worker cannot load an element."""

    module: str | None
    """What it cannot import, if that is known."""
    said: str


class Hangup(ConnectionError):  # noqa: N818
    """The other side is gone."""


def waits_for_ever(link: socket.socket) -> socket.socket:
    """The socket, whatever `socket.setdefaulttimeout` says."""
    link.settimeout(None)
    return link


def readable(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read, or nobody who could write any more; waits so long for it.

    `select.select` knows no descriptors from 1,024 on.
    """
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def send(link: socket.socket, message: Any, descriptors: tuple[int, ...] = (), dumps: Any = None) -> None:
    """Send a message; `Hangup` if nobody is there."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL) if dumps is None else dumps(message)
    whole = _HEAD.pack(len(body), len(descriptors)) + body
    try:
        # At once: whoever waits for it is woken once.
        sent = socket.send_fds(link, [whole], descriptors) if descriptors else 0
        link.sendall(whole[sent:])
    except OSError as error:
        raise Hangup(str(error)) from None


def receive(link: socket.socket) -> tuple[Any, list[int]]:
    """The next message, and the descriptors that came with it; waits for it. `Hangup` at the end."""
    try:
        head, descriptors, _, _ = socket.recv_fds(link, _HEAD.size, 8)
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)  # for no program that is started from here
        head += _rest(link, _HEAD.size - len(head)) if head else b""
        if not head:
            raise Hangup("closed")
        length, _ = _HEAD.unpack(head)
        body = _rest(link, length)
    except OSError as error:
        raise Hangup(str(error)) from None
    return pickle.loads(body), descriptors


def answer(link: socket.socket, gone: Callable[[], bool]) -> Any:
    """The next message, which comes alone and without descriptors; `Hangup` at the end.

    In one call, if it is small: among many threads, each costs a wait for Python's lock. `BlockingIOError` if
    nothing has come for as long as the socket waits; then it is asked whether whoever sends is gone.
    """
    try:
        got = link.recv(_ONE_GO)
        if not got:
            raise Hangup("closed")
        got += _rest(link, _HEAD.size - len(got), gone)
        length, _ = _HEAD.unpack_from(got)
        body = got[_HEAD.size :] + _rest(link, length + _HEAD.size - len(got), gone)
    except BlockingIOError:
        raise
    except OSError as error:
        raise Hangup(str(error)) from None
    return pickle.loads(body)


def _rest(link: socket.socket, length: int, gone: Callable[[], bool] = lambda: False) -> bytes:
    got = bytearray()
    while len(got) < length:
        try:
            more = link.recv(min(length - len(got), 1 << 20))
        except BlockingIOError:  # the rest of a message comes when its sender can go on
            if gone():
                raise Hangup("gone in the middle of a message") from None
            continue
        if not more:
            raise Hangup("closed in the middle of a message")
        got += more
    return bytes(got)
